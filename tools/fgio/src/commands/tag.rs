// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio tag`

use fgio_model::control::DeviceFile;
use fgio_model::tag::{self, Class, Tagged};

use crate::Context;
use crate::cli::TagArguments;
use crate::commands::warn_unless_effective;
use crate::failure::{self, Failure};

pub fn tag(context: &Context, arguments: &TagArguments) -> Result<u8, Failure> {
    let class = arguments.class();
    let control = DeviceFile::open(&context.root)?;
    let tagged = if arguments.thread {
        tag::tag_thread(&context.root, &control, arguments.id, class)?
    } else {
        tag::tag_process(&context.root, &control, arguments.id, class)?
    };
    context
        .output
        .answer(&tagged, || describe(&tagged, arguments.id))?;
    if !tagged.complete {
        context.output.warning(
            &format!(
                "process {} kept starting threads: some may have no tag",
                tagged.process
            ),
            "tag it again when it has settled, or start it with `fgio run`",
        );
    }
    if class != Class::None {
        warn_unless_effective(context, "the tag");
    }
    Ok(failure::OK)
}

fn describe(tagged: &Tagged, id: i32) -> String {
    let first = tagged.threads.first();
    let name = first.and_then(|thread| thread.comm.as_deref());
    let name = name.unwrap_or("ended since");
    let process = tagged.process;
    let what = match (tagged.single_thread, tagged.threads.len()) {
        (true, _) => format!("thread {id} ({name}) of process {process}"),
        (false, 1) => format!("process {process} ({name}), 1 thread"),
        (false, count) => format!("process {process} ({name}), {count} threads"),
    };
    let mut text = match tagged.class {
        Class::None => format!("{what}: no tag now, the I/O priority decides\n"),
        class => format!("{what}: {} now\n", class.name()),
    };
    if !tagged.single_thread && id != process {
        text += &format!("  {id} is a thread of it; give --thread to tag that thread alone\n");
    }
    if !tagged.single_thread && tagged.class != Class::None {
        text += "  threads that it starts later have no tag\n";
    }
    text
}
