// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings as text.

use fgio_sys::setting::{Setting, Value};

use super::{or_unknown, title, wrapped_table};

/// `fgio set`
pub fn all(settings: &[Setting], width: Option<u16>) -> String {
    let is_switch = |setting: &&Setting| matches!(setting.value, Value::Switch(_));
    let (at_run_time, at_load): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|setting| setting.writable);
    let (switches, others): (Vec<&Setting>, Vec<&Setting>) =
        at_run_time.into_iter().partition(is_switch);
    let (numbers, lists) = others
        .into_iter()
        .partition(|setting| matches!(setting.value, Value::Number(_)));
    let mut text = String::new();
    text += &part("Switches", switches, width);
    text += &part("Numbers", numbers, width);
    text += &part("Lists", lists, width);
    text += &part("Set when the module is loaded", at_load, width);
    text.trim_start().to_owned()
}

fn part(name: &str, settings: Vec<&Setting>, width: Option<u16>) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let rows = settings.into_iter().map(|setting| {
        vec![
            setting.value.to_string(),
            or_unknown(setting.default.as_ref()),
            setting.name.clone(),
            setting.purpose.unwrap_or("not known here").to_owned(),
        ]
    });
    let header = ["VALUE", "DEFAULT", "NAME", "PURPOSE"];
    title(name) + &wrapped_table(&header, rows.collect(), 2, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fgio_sys::setting;

    fn known() -> Vec<Setting> {
        let settings = setting::KNOWN.iter().map(|known| Setting {
            name: known.name.to_owned(),
            value: known.default.clone().unwrap_or(Value::Number(7)),
            default: known.default.clone(),
            range: known.range,
            writable: known.name != "tags_max",
            purpose: Some(known.purpose),
        });
        settings.collect()
    }

    #[test]
    fn all_fits_a_terminal() {
        let text = all(&known(), Some(80));
        for line in anstream::adapter::strip_str(&text).to_string().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for known in &setting::KNOWN {
            assert!(text.contains(known.name));
        }
        let at_load = text.find("when the module is loaded").unwrap();
        assert!(text.find("tags_max").unwrap() > at_load);
    }

    #[test]
    fn without_a_terminal_every_setting_has_one_line() {
        let mut settings = known();
        settings.truncate(2);
        settings[0].purpose = None;
        settings[1].default = None;
        let text = all(&settings, None);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("not known here") && text.contains(" ?"));
    }
}
