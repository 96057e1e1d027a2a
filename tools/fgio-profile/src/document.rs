// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TOML file with the line of each part.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Fault, Patterns, Place};

/// A file and its content.
pub struct Document<'a> {
    file: &'a Path,
    text: &'a str,
    root: Spanned<DeTable<'a>>,
}

/// A value in a file.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    file: &'a Path,
    text: &'a str,
    pub name: &'a str,
    span_start: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Document<'a> {
    pub fn parse(file: &'a Path, text: &'a str) -> Result<Self, Fault> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Self { file, text, root }),
            Err(error) => {
                let Range { start, .. } = error.span().unwrap_or(0..0);
                Err(Fault::new(
                    Place::at(file, text, start),
                    error.message().replace('\n', ", "),
                    "correct the line; https://toml.io explains the format",
                ))
            }
        }
    }

    /// The fields at the top, all of whose names are in `known`.
    pub fn fields(&'a self, known: &[&str]) -> Result<Vec<Field<'a>>, Fault> {
        fields_of(self.file, self.text, self.root.get_ref(), known)
    }

    /// A fault of the file as a whole.
    pub fn fault(&self, message: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault::new(Place::at(self.file, self.text, 0), message, advice)
    }
}

fn fields_of<'a>(
    file: &'a Path,
    text: &'a str,
    table: &'a DeTable<'a>,
    known: &[&str],
) -> Result<Vec<Field<'a>>, Fault> {
    let mut fields = Vec::new();
    for (key, value) in table {
        let name: &str = key.get_ref();
        if !known.contains(&name) {
            return Err(Fault::new(
                Place::at(file, text, key.span().start),
                format!("there is no `{name}` here"),
                suggest(name, known),
            ));
        }
        fields.push(Field {
            file,
            text,
            name,
            span_start: value.span().start,
            value: value.get_ref(),
        });
    }
    fields.sort_by_key(|field| field.span_start);
    Ok(fields)
}

fn suggest(name: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= 2)
        .min();
    match near {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => format!("possible names: {}", known.join(", ")),
    }
}

impl<'a> Field<'a> {
    pub fn place(&self) -> Place {
        Place::at(self.file, self.text, self.span_start)
    }

    pub fn fault(&self, message: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault::new(self.place(), message, advice)
    }

    fn expected(&self, what: &str, example: &str) -> Fault {
        let (name, found) = (self.name, self.value.type_str());
        let example = format!("write, for instance, `{name} = {example}`");
        self.fault(
            format!("`{name}` is to be {what}, and this is a value of type {found}"),
            example,
        )
    }

    pub fn text(&self) -> Result<&'a str, Fault> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.expected("a text", "\"...\"")),
        }
    }

    pub fn is_true(&self) -> Result<bool, Fault> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.expected("true or false", "true")),
        }
    }

    /// A number from `range`.
    pub fn number(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, Fault> {
        let DeValue::Integer(integer) = self.value else {
            return Err(self.expected("a whole number", &range.start().to_string()));
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (name, low, high) = (self.name, range.start(), range.end());
                self.fault(
                    format!("`{name}` cannot be {integer}"),
                    format!("give a whole number from {low} to {high}"),
                )
            })
    }

    /// The fields of a table, all of whose names are in `known`.
    pub fn fields(&self, known: &[&str]) -> Result<Vec<Field<'a>>, Fault> {
        match self.value {
            DeValue::Table(table) => fields_of(self.file, self.text, table, known),
            _ => Err(self.expected("a table", "{ ... }")),
        }
    }

    /// The elements of an array; a value that is no array stands for an array of one.
    pub fn elements(&self) -> Vec<Field<'a>> {
        match self.value {
            DeValue::Array(array) => array
                .iter()
                .map(|element| Field {
                    span_start: element.span().start,
                    value: element.get_ref(),
                    ..*self
                })
                .collect(),
            _ => vec![*self],
        }
    }

    /// One text or several.
    pub fn texts(&self) -> Result<Vec<&'a str>, Fault> {
        let texts: Vec<&str> = self
            .elements()
            .iter()
            .map(Field::text)
            .collect::<Result<_, _>>()?;
        if texts.is_empty() {
            return Err(self.fault(
                format!("`{}` is empty", self.name),
                "give one text at least, or leave it out",
            ));
        }
        Ok(texts)
    }

    /// One regular expression or several.
    pub fn patterns(&self) -> Result<Patterns, Fault> {
        self.texts()?;
        let mut patterns = Patterns::none();
        for element in self.elements() {
            patterns.add(element.text()?).map_err(|error| {
                element.fault(
                    format!("`{}` is no regular expression: {error}", self.name),
                    "correct it; put `\\` before a character that is meant literally, and '...' around the whole",
                )
            })?;
        }
        Ok(patterns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str, read: impl Fn(&Field<'_>) -> Option<Fault>) -> String {
        let document = Document::parse(Path::new("/f"), text).unwrap();
        let fields = document.fields(&["x"]).unwrap();
        let fault = read(&fields[0]).unwrap();
        assert!(!fault.advice.is_empty());
        fault.to_string()
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_at_its_line() {
        for (text, place) in [("\nx = 1", "/f:2:5"), ("x = [\n 'a',\n 1]", "/f:3:2")] {
            let said = fault(text, |field| field.texts().err());
            assert!(said.starts_with(place), "{said}");
            assert!(said.contains("of type integer"), "{said}");
        }
        let said = fault("x = []", |field| field.texts().err());
        assert_eq!(said, "/f:1:5: `x` is empty");
        let said = fault("x = 70000", |field| field.number(1..=65535).err());
        assert_eq!(said, "/f:1:5: `x` cannot be 70000");
        let said = fault("x = -1", |field| field.number(1..=65535).err());
        assert_eq!(said, "/f:1:5: `x` cannot be -1");
        let said = fault("x = '1'", |field| field.number(1..=65535).err());
        assert!(said.contains("a whole number"), "{said}");
        let said = fault("x = 1", |field| field.fields(&[]).err());
        assert!(said.contains("a table"), "{said}");
        let said = fault("x = ['a',\n  '(']", |field| field.patterns().err());
        assert!(
            said.starts_with("/f:2:3: `x` is no regular expression"),
            "{said}"
        );
    }

    #[test]
    fn names_that_are_not_known_are_refused() {
        let document = Document::parse(Path::new("/f"), "clas = 1\n").unwrap();
        let fault = document.fields(&["class", "name"]).err().unwrap();
        assert_eq!(fault.to_string(), "/f:1:1: there is no `clas` here");
        assert_eq!(fault.advice, "did you mean `class`?");
        let fault = document.fields(&["name", "why"]).err().unwrap();
        assert_eq!(fault.advice, "possible names: name, why");
    }

    #[test]
    fn invalid_toml_is_refused_where_it_ends() {
        for (text, place) in [
            ("a = 1\nb = \n", "/f:2:"),
            ("[[rule]\n", "/f:1:"),
            ("a=1\na=2", "/f:2:"),
        ] {
            let fault = Document::parse(Path::new("/f"), text).err().unwrap();
            assert!(fault.to_string().starts_with(place), "{fault}");
        }
    }
}
