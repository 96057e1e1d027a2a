// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections by what libfgio itself says of them; whether the module is there does not matter.

#![allow(clippy::unwrap_used)]

use fgio::{Class, Request};

fn now() -> (Class, u32) {
    let status = fgio::status().unwrap();
    (status.class, status.sections)
}

#[test]
fn guards_nest_and_end() {
    assert_eq!(now(), (Class::Undecided, 0));
    {
        let _outer = fgio::foreground();
        assert_eq!(now(), (Class::Foreground, 1));
        {
            let _inner = fgio::background();
            let _request = fgio::request(u64::MAX);
            assert_eq!(now(), (Class::Foreground, 3));
            drop(_request);
            assert_eq!(now(), (Class::Background, 2));
        }
        assert_eq!(now(), (Class::Foreground, 1));
    }
    assert_eq!(now(), (Class::Undecided, 0));
}

#[test]
fn a_panic_ends_its_section() {
    let result = std::panic::catch_unwind(|| {
        let _section = fgio::foreground();
        panic!("as a request may");
    });
    assert!(result.is_err());
    assert_eq!(now(), (Class::Undecided, 0));
}

#[test]
fn sections_belong_to_their_thread() {
    let _section = fgio::foreground();
    let of_another = std::thread::spawn(now).join().unwrap();
    assert_eq!(of_another, (Class::Undecided, 0));
}

#[test]
fn the_module_is_there_or_not() {
    assert_eq!(fgio::init().is_ok(), fgio::available());
    assert_eq!(fgio::status().unwrap().module.is_some(), fgio::available());
}

#[test]
fn hints_say_what_is_wrong() {
    let error = fgio::wait_for(0).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn requests_are_in_order_and_become_text() {
    fgio::set_origin(9).unwrap();
    let first = Request {
        deadline_ms: 250,
        ..Request::new()
    };
    let second = Request::new();
    assert!(first.is_before(&second) && !second.is_before(&first) && !first.is_before(&first));
    assert_eq!(first.id % 4096, 9);
    let text = format!("a=b,{first},{second}");
    assert_eq!(Request::find(&text), Some(first));
    assert_eq!(Request::find(&format!("x\0{second}")), None);
    assert_eq!(Request::find("fgio:12"), None);
    assert_eq!(Request::default().to_string(), "");
    second.seen();
    let error = fgio::set_origin(4096).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let wrapped = Request {
        id: 1,
        ..Request::default()
    };
    let last = Request {
        id: u64::MAX,
        ..Request::default()
    };
    assert!(last.is_before(&wrapped));
}

#[test]
fn a_section_serves_a_request() {
    let _section = fgio::serve(&Request::new());
    assert_eq!(now(), (Class::Foreground, 1));
}
