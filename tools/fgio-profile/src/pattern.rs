// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Regular expressions that match a whole text.

use regex::{Regex, RegexBuilder};

/// Memory that one expression may take when it is compiled.
const COMPILED_MAX_BYTES: usize = 1 << 20;

/// Alternatives, one of which matches the whole of a text.
#[derive(Clone, Debug)]
pub struct Patterns {
    sources: Vec<String>,
    compiled: Vec<Regex>,
}

impl Patterns {
    /// Alternatives that match nothing yet.
    pub fn none() -> Self {
        Self {
            sources: Vec::new(),
            compiled: Vec::new(),
        }
    }

    /// Adds an alternative; the error describes its fault.
    pub fn add(&mut self, source: &str) -> Result<(), String> {
        // Alone first: `a)(b` is made valid by the parentheses around it.
        compile(source)?;
        self.compiled.push(compile(&format!("^(?:{source})$"))?);
        self.sources.push(source.to_owned());
        Ok(())
    }

    /// The alternatives of both.
    pub fn extend(&mut self, other: Self) {
        self.sources.extend(other.sources);
        self.compiled.extend(other.compiled);
    }

    /// Whether an alternative matches the whole of `text`.
    pub fn match_whole(&self, text: &str) -> bool {
        self.compiled.iter().any(|regex| regex.is_match(text))
    }

    /// The expressions as they were written.
    pub fn sources(&self) -> &[String] {
        &self.sources
    }
}

fn compile(source: &str) -> Result<Regex, String> {
    RegexBuilder::new(source)
        // Programs write any title: a line break is a character as any other.
        .dot_matches_new_line(true)
        .size_limit(COMPILED_MAX_BYTES)
        .build()
        .map_err(|error| explain(&error))
}

/// The last line of the library's message: those before it show the expression.
fn explain(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().next_back().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(sources: &[&str]) -> Patterns {
        let mut patterns = Patterns::none();
        for source in sources {
            patterns.add(source).unwrap();
        }
        patterns
    }

    #[test]
    fn the_whole_text_is_matched() {
        let patterns = patterns(&["post", "a|b", "x.*y"]);
        for text in ["post", "a", "b", "xy", "x\ny"] {
            assert!(patterns.match_whole(text), "{text:?}");
        }
        for text in ["postgres", "rampost", "ab", "b ", "post\n", ""] {
            assert!(!patterns.match_whole(text), "{text:?}");
        }
        assert!(!Patterns::none().match_whole(""));
    }

    #[test]
    fn invalid_expressions_are_refused() {
        for source in ["(", "a)(b", "*", "[", r"\p{Nonsense}", "(a{1000}){1000}"] {
            let error = Patterns::none().add(source).unwrap_err();
            assert!(
                !error.is_empty() && !error.contains('\n'),
                "{source}: {error}"
            );
        }
    }
}
