// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio share`

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fgio_model::share::{self, DiskShares};
use fgio_sys::block::{self, Disk};
use fgio_sys::cgroup::{self, Cgroup, Weighted};
use fgio_sys::control::DeviceFile;
use fgio_sys::share::{Shares, Sharing};
use fgio_sys::{Error, Root, setting};
use fgio_sys::{cache_limits, cache_shares};

use crate::Context;
use crate::answer::share::{ExplainedDisk, Explanation, List, ListedDisk, NotShared, PageCache};
use crate::cli::{ShareArguments, ShareCommand, ShareListArguments};
use crate::failure::{self, Failure};
use crate::render;
use crate::signal::{End, Until};

/// Other cgroups that an explanation names.
const ABOUT: usize = 5;

pub fn share(context: &Context, arguments: &ShareArguments) -> Result<u8, Failure> {
    match &arguments.command {
        None => list(context, &ShareListArguments::default())?,
        Some(ShareCommand::List(arguments)) => list(context, arguments)?,
        Some(ShareCommand::Set { cgroup, weight }) => set(context, cgroup, *weight)?,
        Some(ShareCommand::Explain { cgroup, period }) => explain(context, cgroup, *period)?,
    }
    Ok(failure::OK)
}

fn set(context: &Context, name: &str, weight: u32) -> Result<(), Failure> {
    let cgroup = cgroup::find(&context.root, name)?;
    let weighted = cgroup::set_weight(&context.root, &cgroup, weight)?;
    context
        .output
        .answer(&weighted, || describe_weighted(&weighted))?;
    if let Some(unit) = &weighted.unit {
        context.output.warning(
            &format!("{unit} is a unit of systemd, which may set its own weight again"),
            &format!("run `systemctl set-property {unit} IOWeight={weight}` to have it for good"),
        );
    }
    if setting::number_of(&context.root, "shares") == Some(0) {
        context.output.warning(
            "weights have no effect in fgio yet: the setting shares is 0",
            NotShared::Off.advice(),
        );
    }
    Ok(())
}

fn describe_weighted(weighted: &Weighted) -> String {
    let path = weighted.cgroup.path();
    match weighted.changed {
        true => format!(
            "{path}: weight {}, was {}\n",
            weighted.weight, weighted.previous
        ),
        false => format!("{path}: still weight {}\n", weighted.weight),
    }
}

/// Disks with their cgroups at the begin and at the end of an interval.
#[derive(Default)]
struct Measured {
    disks: Vec<(Disk, Shares, Shares)>,
    elapsed: Duration,
    paths: BTreeMap<u64, Cgroup>,
}

/// A disk that leaves fgio meanwhile is left out.
fn measure(root: &Root, disks: Vec<Disk>, period: Duration) -> Result<Measured, Failure> {
    let device = DeviceFile::open(root)?;
    let before = read(&device, disks)?;
    let began = Instant::now();
    End::new(Until::AnswersUnread, "try again")?.wait(period)?;
    let elapsed = began.elapsed();
    let mut measured = Vec::new();
    for (disk, old) in before {
        for (disk, new) in read(&device, vec![disk])? {
            measured.push((disk, old.clone(), new));
        }
    }
    Ok(Measured {
        disks: measured,
        elapsed,
        paths: cgroup::paths(root).unwrap_or_default(),
    })
}

fn read(device: &dyn Sharing, disks: Vec<Disk>) -> Result<Vec<(Disk, Shares)>, Error> {
    let mut found = Vec::new();
    for disk in disks {
        let Some((major, minor)) = disk.major_minor() else {
            continue;
        };
        match device.shares(major, minor) {
            Ok(shares) => found.push((disk, shares)),
            Err(Error::NotUnderFgio { .. }) => (),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The disks that are named, which must be under fgio; all that are, if none is.
fn choose(root: &Root, names: &[String]) -> Result<Vec<Disk>, Failure> {
    if names.is_empty() {
        let disks = block::disks(root)?.into_iter();
        return Ok(disks.filter(Disk::is_under_fgio).collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let disk = block::resolve(root, name)?.disk;
        if !disk.is_under_fgio() {
            return Err(Failure::new(
                fgio_sys::ErrorKind::NotFound.name(),
                failure::NOT_FOUND,
                format!("{} is not under fgio", disk.name),
                format!("run `fgio enable {}` as root", disk.name),
            ));
        }
        chosen.push(disk);
    }
    Ok(chosen)
}

fn list(context: &Context, arguments: &ShareListArguments) -> Result<(), Failure> {
    let disks = choose(&context.root, &arguments.devices)?;
    // The page cache is divided without the module, too.
    let measured = match disks.is_empty() && cache_limits::is_running(&context.root) {
        true => Measured::default(),
        false => measure(&context.root, disks, arguments.period)?,
    };
    let setting = setting::number_of(&context.root, "shares");
    let disks = measured.disks.iter().map(|(disk, before, now)| {
        let shares = share::compare(&disk.name, before, now, measured.elapsed, &measured.paths);
        cut(shares, NotShared::of(setting, now), arguments)
    });
    let answer = List {
        seconds: measured.elapsed.as_secs_f64(),
        disks: disks.collect(),
        page_cache: page_cache(&context.root, arguments.top),
    };
    context
        .output
        .answer(&answer, || render::share::list(&answer))
}

fn page_cache(root: &Root, top: usize) -> Option<PageCache> {
    let (_, shares) = cache_shares::read(root)?;
    Some(PageCache::of(shares, top))
}

fn cut(
    mut shares: DiskShares,
    not_shared: Option<NotShared>,
    arguments: &ShareListArguments,
) -> ListedDisk {
    let all = shares.cgroups.len();
    if !arguments.all {
        shares.cgroups.retain(|share| !share.is_idle());
    }
    let shown = shares.cgroups.len();
    shares.cgroups.truncate(arguments.top);
    ListedDisk {
        idle_left_out: all - shown,
        left_out: shown - shares.cgroups.len(),
        shares,
        not_shared,
    }
}

fn explain(context: &Context, name: &str, period: Duration) -> Result<(), Failure> {
    let root = &context.root;
    let cgroup = cgroup::find(root, name)?;
    let counted = cgroup.accounted(root)?;
    let id = counted.id(root)?;
    let measured = measure(root, choose(root, &[])?, period)?;
    let setting = setting::number_of(root, "shares");
    let answer = Explanation {
        weight: counted.weight(root)?,
        counts_as: (counted != cgroup).then_some(counted),
        cgroup,
        seconds: measured.elapsed.as_secs_f64(),
        disks: (measured.disks.iter())
            .map(|(disk, before, now)| {
                let shares =
                    share::compare(&disk.name, before, now, measured.elapsed, &measured.paths);
                explain_disk(
                    shares,
                    NotShared::of(setting, now),
                    now,
                    id,
                    &measured.paths,
                )
            })
            .collect(),
    };
    context
        .output
        .answer(&answer, || render::share::explanation(&answer))
}

fn explain_disk(
    shares: DiskShares,
    not_shared: Option<NotShared>,
    now: &Shares,
    id: u64,
    paths: &BTreeMap<u64, Cgroup>,
) -> ExplainedDisk {
    let (share, others): (Vec<_>, Vec<_>) =
        shares.cgroups.into_iter().partition(|share| share.id == id);
    let others = others.into_iter().filter(|share| !share.is_idle());
    ExplainedDisk {
        device: shares.device,
        not_shared,
        share: share.into_iter().next(),
        steps: share::steps(now, id, paths),
        others: others.take(ABOUT).collect(),
    }
}

#[cfg(test)]
mod tests {
    use fgio_sys::Result;
    use fgio_sys::fixture::Fixture;
    use fgio_sys::share::Share;

    use super::*;

    /// A module that has shares of sda alone.
    struct Module {
        shares: Shares,
    }

    impl Sharing for Module {
        fn shares(&self, major: u32, minor: u32) -> Result<Shares> {
            match (major, minor) {
                (8, 0) => Ok(self.shares.clone()),
                _ => Err(Error::NotUnderFgio { major, minor }),
            }
        }
    }

    fn share(cgroup: u64, weight: u32, drive_ns: u64) -> Share {
        Share {
            cgroup,
            parent: 1,
            weight,
            asks: drive_ns > 0,
            drive_ns,
            requests: drive_ns,
            guarantee: f64::from(weight) / 400.0,
            ..Share::default()
        }
    }

    fn shares(on: bool) -> Shares {
        Shares {
            followed: true,
            on,
            cgroups: vec![share(2, 300, 60), share(3, 100, 40), share(4, 100, 0)],
        }
    }

    #[test]
    fn disks_that_are_not_under_fgio_are_left_out() {
        let fixture = Fixture::new();
        fixture.disk("sda", "8:0", "none [fgio]");
        fixture.disk("sdb", "8:16", "none [fgio]");
        fixture.disk("sdc", "8:32", "[none] fgio");
        let chosen = choose(fixture.root(), &[]).unwrap();
        assert_eq!(chosen.len(), 2);
        let read = read(
            &Module {
                shares: shares(true),
            },
            chosen,
        )
        .unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].1.cgroups.len(), 3);
        let failure = choose(fixture.root(), &["sdc".to_owned()]).unwrap_err();
        assert_eq!(failure.status, failure::NOT_FOUND);
        assert!(failure.advice.contains("fgio enable sdc"));
    }

    #[test]
    fn the_reason_why_a_disk_is_not_shared_is_named() {
        let mut now = shares(false);
        assert_eq!(NotShared::of(Some(0), &now), Some(NotShared::Off));
        assert_eq!(NotShared::of(Some(1), &now), Some(NotShared::NotNow));
        now.cgroups[0].weight = 100;
        assert_eq!(NotShared::of(Some(1), &now), Some(NotShared::EqualWeights));
        assert_eq!(NotShared::of(Some(2), &now), Some(NotShared::NotNow));
        now.followed = false;
        assert_eq!(NotShared::of(Some(1), &now), Some(NotShared::CameBefore));
        assert_eq!(NotShared::of(Some(1), &shares(true)), None);
    }

    fn listed(arguments: &ShareListArguments) -> ListedDisk {
        let old = Shares::default();
        let second = Duration::from_secs(1);
        let found = share::compare("sda", &old, &shares(true), second, &BTreeMap::new());
        cut(found, None, arguments)
    }

    #[test]
    fn a_list_is_cut_and_says_so() {
        let disk = listed(&ShareListArguments::default());
        assert_eq!(
            (disk.shares.cgroups.len(), disk.idle_left_out, disk.left_out),
            (2, 1, 0)
        );
        let arguments = ShareListArguments {
            all: true,
            top: 1,
            ..ShareListArguments::default()
        };
        let disk = listed(&arguments);
        assert_eq!(
            (disk.shares.cgroups.len(), disk.idle_left_out, disk.left_out),
            (1, 0, 2)
        );
        let answer = List {
            seconds: 1.0,
            disks: vec![disk],
            page_cache: None,
        };
        let text = render::share::list(&answer);
        assert!(text.contains("2 more"), "{text}");
    }

    #[test]
    fn a_list_reads_as_a_table() {
        let answer = List {
            seconds: 1.0,
            disks: vec![listed(&ShareListArguments::default())],
            page_cache: None,
        };
        let text = anstream::adapter::strip_str(&render::share::list(&answer)).to_string();
        let line = text.lines().find(|line| line.contains("id 2")).unwrap();
        for word in ["300", "75.0 %", "60.0 %", "asks less"] {
            assert!(line.contains(word), "{word}: {text}");
        }
        assert!(text.contains("1 without I/O"), "{text}");
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(json["disks"][0]["cgroups"][0]["standing"], "asks-less");
        assert_eq!(json["disks"][0]["cgroups"][1]["got"], 0.4);
    }

    fn share_of_pages(group: &str, held: u64) -> cache_shares::Share {
        cache_shares::Share {
            group: group.to_owned(),
            weight: 300,
            held,
            entitled: 400 << 20,
            granted: 100 << 20,
            ..cache_shares::Share::default()
        }
    }

    fn listed_pages(fixture: &Fixture, top: usize) -> (List, String) {
        let answer = List {
            seconds: 1.0,
            disks: Vec::new(),
            page_cache: page_cache(fixture.root(), top),
        };
        let text = anstream::adapter::strip_str(&render::share::list(&answer)).to_string();
        (answer, text)
    }

    #[test]
    fn the_page_cache_is_listed_while_it_is_divided() {
        let fixture = Fixture::new();
        let shares = [
            share_of_pages("/a.slice", 1 << 20),
            share_of_pages("/b.slice", 90 << 20),
        ];
        let totals = cache_shares::Totals::default();
        cache_shares::publish(fixture.root(), &totals, &shares).unwrap();
        // A record without its writer is old.
        let (_, text) = listed_pages(&fixture, 20);
        assert!(text.contains("no disk is under fgio"), "{text}");
        assert!(
            text.contains("not divided") && text.contains("fgiod-cache"),
            "{text}"
        );
        let _lock = cache_limits::lock(fixture.root()).unwrap();
        let (answer, text) = listed_pages(&fixture, 1);
        let line = text.lines().find(|line| line.contains("/b.slice")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            ["/b.slice", "300", "90.0", "400.0", "300.0", "100.0"]
        );
        assert!(
            text.contains("1 more") && !text.contains("/a.slice"),
            "{text}"
        );
        let json = serde_json::to_value(&answer).unwrap();
        let first = &json["page_cache"]["cgroups"][0];
        assert_eq!(
            (&first["group"], &first["lent"]),
            (&"/b.slice".into(), &(300_u64 << 20).into())
        );
        // Equal weights: it runs, and has nothing to divide.
        cache_shares::publish(fixture.root(), &totals, &[]).unwrap();
        let (_, text) = listed_pages(&fixture, 20);
        assert!(text.contains("weights are equal"), "{text}");
    }

    #[test]
    fn an_explanation_names_the_weights_beside_it() {
        let now = shares(true);
        let second = Duration::from_secs(1);
        let found = share::compare("sda", &Shares::default(), &now, second, &BTreeMap::new());
        let fixture = Fixture::new();
        fixture.file("/sys/fs/cgroup/cgroup.controllers", "io\n");
        fixture.file("/sys/fs/cgroup/a/cgroup.controllers", "io\n");
        let unused = explain_disk(found.clone(), None, &now, 77, &BTreeMap::new());
        let off = explain_disk(
            found.clone(),
            Some(NotShared::Off),
            &now,
            2,
            &BTreeMap::new(),
        );
        let answer = Explanation {
            cgroup: cgroup::find(fixture.root(), "/a").unwrap(),
            counts_as: Some(cgroup::find(fixture.root(), "/").unwrap()),
            weight: Some(300),
            seconds: 1.0,
            disks: vec![
                explain_disk(found, None, &now, 2, &BTreeMap::new()),
                unused,
                off,
            ],
        };
        let text = anstream::adapter::strip_str(&render::share::explanation(&answer)).to_string();
        for words in [
            "/a: weight 300",
            "counts as that of /",
            "guarantee 75.0 %, got 60.0 %",
            "300 of 400",
            "(gone, id 3) 100",
            "has not used it",
            "the setting shares is 0",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
