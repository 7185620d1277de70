//! Random YAML and JSON texts, some of them corrupted.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::rng::SeededRng;

static PIECES: LazyLock<Pieces> =
    LazyLock::new(|| serde_json::from_str(include_str!("texts/pieces.json")).expect("parse pieces.json"));

/// Fragments that texts are composed of.
#[derive(Deserialize)]
struct Pieces {
    fields: Vec<String>,
    unusual_keys: Vec<String>,
    scalars: Vec<String>,
    unusual_scalars: Vec<String>,
    noise: Vec<String>,
}

/// Generates texts. The same seed gives the same texts on every platform.
pub struct TextGenerator(pub SeededRng);

impl TextGenerator {
    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        self.0.pick::<&str>(from)
    }

    fn piece(&mut self, from: &'static [String]) -> &'static str {
        self.0.pick::<String>(from)
    }

    /// Returns text number `case`: usual and unusual texts, every other one corrupted.
    pub fn sample(&mut self, case: u64) -> String {
        let text = self.text([0, 5, 25][usize::try_from(case % 3).expect("below 3")]);
        if case.is_multiple_of(2) { text } else { self.corrupt(&text) }
    }

    /// Returns a text similar to what users write, with `unusual_percent` percent of unusual fragments.
    fn text(&mut self, unusual_percent: usize) -> String {
        let mut text = String::new();
        for part in
            ["\u{feff}", "%YAML 1.1\n", "# head\n", "\n", "---\n", "--- ", "--- # c\n", "&top ", "&top\n", "!!map\n"]
        {
            if self.0.one_in(40) {
                text.push_str(part);
            }
        }
        match self.0.below(3) {
            0 => self.flow(&mut text, unusual_percent),
            1 => self.json(&mut text),
            _ => {
                let indentation = if self.0.one_in(8) { 2 } else { 0 };
                self.block(&mut text, indentation, unusual_percent);
            }
        }
        for part in ["\n", "  ", "# tail", "\n# tail\n", "\n...\n", "\n---\n", "\t"] {
            if self.0.one_in(15) {
                text.push_str(part);
            }
        }
        if self.0.one_in(6) { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
    }

    /// Returns `text` with some characters removed, inserted or replaced.
    fn corrupt(&mut self, text: &str) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.0.below(3) {
            let at = self.0.below(characters.len() + 1);
            let removed = self.0.below(3).min(characters.len() - at);
            let noise = if self.0.one_in(3) { "" } else { self.piece(&PIECES.noise) };
            characters.splice(at..at + removed, noise.chars());
        }
        characters.into_iter().collect()
    }

    fn key(&mut self, unusual_percent: usize) -> &'static str {
        let unusual = self.0.below(100) < unusual_percent;
        self.piece(if unusual { &PIECES.unusual_keys } else { &PIECES.fields })
    }

    fn scalar(&mut self, unusual_percent: usize) -> &'static str {
        let unusual = self.0.below(100) < unusual_percent;
        self.piece(if unusual { &PIECES.unusual_scalars } else { &PIECES.scalars })
    }

    fn block(&mut self, text: &mut String, indentation: usize, unusual_percent: usize) {
        let blank = " ".repeat(indentation);
        for _ in 0..=self.0.below(4) {
            if self.0.one_in(6) {
                text.push_str(self.pick(&["# comment\n", "  # comment\n", "\n", "  \n"]));
            }
            text.push_str(&blank);
            text.push_str(self.key(unusual_percent));
            text.push(':');
            match self.0.below(if indentation < 6 { 6 } else { 4 }) {
                4 => {
                    text.push_str(self.pick(&["\n", " # comment\n", " &x\n", "\n\n"]));
                    self.block(text, indentation + 2, unusual_percent);
                    continue;
                }
                5 => {
                    text.push('\n');
                    for _ in 0..=self.0.below(2) {
                        text.push_str(&blank);
                        text.push_str(self.pick(&["- ", "  - ", "-   ", "- - "]));
                        text.push_str(self.scalar(unusual_percent));
                        text.push('\n');
                    }
                    continue;
                }
                _ => {
                    text.push_str(self.pick(&[" ", " ", " ", "  ", "\t"]));
                    text.push_str(self.scalar(unusual_percent));
                }
            }
            text.push_str(self.pick(&["", "", " # comment", "  "]));
            text.push('\n');
        }
        if self.0.one_in(5) {
            text.pop();
        }
    }

    fn flow(&mut self, text: &mut String, unusual_percent: usize) {
        let gap = self.pick(&["", "", " ", "\n", "\n  ", " # comment\n", "\t", "\n\t"]);
        text.push('{');
        text.push_str(gap);
        for entry in 0..self.0.below(4) {
            if entry > 0 {
                text.push_str(self.pick(&[", ", ",", ",\n  ", " ,"]));
            }
            text.push_str(self.key(unusual_percent));
            text.push_str(self.pick(&[": ", ": ", ":", " : ", ":\n  "]));
            text.push_str(self.scalar(unusual_percent));
        }
        text.push_str(self.pick(&["", "", ",", ", "]));
        text.push_str(gap);
        text.push('}');
    }

    fn json(&mut self, text: &mut String) {
        let mut fields = serde_json::Map::new();
        for _ in 0..self.0.below(4) {
            let value =
                self.pick(&["1", "true", "false", "null", "\"a\\\"b\\\\/é\"", "{\"A\":\"b\"}", "[1,{}]", "1.5e3"]);
            let key = self.key(0).trim_matches(['"', '\'']);
            fields.insert(key.to_owned(), serde_json::from_str(value).expect("JSON"));
        }
        let pretty = serde_json::to_string_pretty(&fields).expect("JSON");
        text.push_str(&match self.0.below(3) {
            0 => serde_json::to_string(&fields).expect("JSON"),
            1 => pretty.replace("  ", "\t"),
            _ => pretty,
        });
    }
}
