// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio tag`

use fgio_sys::class::Class;
use fgio_sys::control::DeviceFile;
use fgio_sys::tag::{self, Tagged};
use serde::Serialize;

use crate::Context;
use crate::cli::TagArguments;
use crate::commands::warn_unless_effective;
use crate::failure::{self, Failure};

#[derive(Serialize)]
struct Answer<'a> {
    /// The one that was tagged, where one was named.
    #[serde(flatten)]
    only: Option<&'a Tagged>,
    tagged: &'a [Tagged],
    /// The ids that could not be tagged.
    failed: Vec<i32>,
}

pub fn tag(context: &Context, arguments: &TagArguments) -> Result<u8, Failure> {
    let (root, ids) = (&context.root, &arguments.ids);
    let class = arguments.class();
    let control = DeviceFile::open(root)?;
    let all = tag::tag_all(root, &control, ids, class, arguments.thread);
    let answer = Answer {
        only: all.tagged.first().filter(|_| ids.len() == 1),
        tagged: &all.tagged,
        failed: all.failed.iter().map(|(id, _)| *id).collect(),
    };
    context.output.answer(&answer, || {
        let texts = all.tagged.iter().map(|tagged| describe(tagged, ids));
        texts.collect()
    })?;
    for tagged in all.tagged.iter().filter(|tagged| !tagged.complete) {
        context.output.warning(
            &format!(
                "process {} kept starting threads: some may have no tag",
                tagged.process
            ),
            "tag it again when it has settled, or start it with `fgio run`",
        );
    }
    if class != Class::None && !all.tagged.is_empty() {
        warn_unless_effective(context, "the tag");
    }
    let mut status = failure::OK;
    for (_, error) in all.failed {
        let failure = Failure::from(error);
        context.output.failure(&failure);
        if status == failure::OK {
            status = failure.status;
        }
    }
    Ok(status)
}

fn describe(tagged: &Tagged, ids: &[i32]) -> String {
    let first = tagged.threads.first();
    let name = first.and_then(|thread| thread.comm.as_deref());
    let name = name.unwrap_or("ended since");
    let process = tagged.process;
    let what = match (tagged.single_thread, tagged.threads.len()) {
        (true, _) => {
            let id = first.map_or(process, |thread| thread.tid);
            format!("thread {id} ({name}) of process {process}")
        }
        (false, 1) => format!("process {process} ({name}), 1 thread"),
        (false, count) => format!("process {process} ({name}), {count} threads"),
    };
    let mut text = match tagged.class {
        Class::None => format!("{what}: no tag now, the I/O priority decides\n"),
        class => format!("{what}: {} now\n", class.name()),
    };
    let named = |thread: &&tag::Thread| thread.tid != process && ids.contains(&thread.tid);
    if let Some(thread) = tagged
        .threads
        .iter()
        .find(named)
        .filter(|_| !tagged.single_thread)
    {
        let id = thread.tid;
        text += &format!("  {id} is a thread of it; give --thread to tag that thread alone\n");
    }
    if !tagged.single_thread && tagged.class != Class::None {
        text += "  threads that it starts later have no tag\n";
    }
    text
}
