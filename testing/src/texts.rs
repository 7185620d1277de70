//! Texts as nobody would think of them: written at random, then damaged at random.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::dice::Dice;

static PIECES: LazyLock<Pieces> =
    LazyLock::new(|| serde_json::from_str(include_str!("texts/pieces.json")).expect("pieces.json is as declared"));

/// What texts are put together from.
#[derive(Deserialize)]
struct Pieces {
    fields: Vec<String>,
    odd_keys: Vec<String>,
    scalars: Vec<String>,
    odd_scalars: Vec<String>,
    noise: Vec<String>,
}

/// Writes texts. The same dice give the same texts everywhere.
pub struct Random(pub Dice);

impl Random {
    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        self.0.pick::<&str>(from)
    }

    fn piece(&mut self, from: &'static [String]) -> &'static str {
        self.0.pick::<String>(from)
    }

    /// Sound, odd and damaged texts in turn.
    pub fn sample(&mut self, case: u64) -> String {
        let text = self.text([0, 5, 25][usize::try_from(case % 3).expect("below three")]);
        if case.is_multiple_of(2) { text } else { self.damage(&text) }
    }

    /// A text that a user could have written, or nearly so: `oddness` in a hundred of its parts are unusual.
    fn text(&mut self, oddness: usize) -> String {
        let mut text = String::new();
        for part in
            ["\u{feff}", "%YAML 1.1\n", "# head\n", "\n", "---\n", "--- ", "--- # c\n", "&top ", "&top\n", "!!map\n"]
        {
            if self.0.once_in(40) {
                text.push_str(part);
            }
        }
        match self.0.below(3) {
            0 => self.flow(&mut text, oddness),
            1 => self.json(&mut text),
            _ => {
                let indentation = if self.0.once_in(8) { 2 } else { 0 };
                self.block(&mut text, indentation, oddness);
            }
        }
        for part in ["\n", "  ", "# tail", "\n# tail\n", "\n...\n", "\n---\n", "\t"] {
            if self.0.once_in(15) {
                text.push_str(part);
            }
        }
        if self.0.once_in(6) { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
    }

    /// `text` with some of its characters lost, doubled or replaced.
    fn damage(&mut self, text: &str) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.0.below(3) {
            let at = self.0.below(characters.len() + 1);
            let lost = self.0.below(3).min(characters.len() - at);
            let noise = if self.0.once_in(3) { "" } else { self.piece(&PIECES.noise) };
            characters.splice(at..at + lost, noise.chars());
        }
        characters.into_iter().collect()
    }

    fn key(&mut self, oddness: usize) -> &'static str {
        let odd = self.0.below(100) < oddness;
        self.piece(if odd { &PIECES.odd_keys } else { &PIECES.fields })
    }

    fn scalar(&mut self, oddness: usize) -> &'static str {
        let odd = self.0.below(100) < oddness;
        self.piece(if odd { &PIECES.odd_scalars } else { &PIECES.scalars })
    }

    fn block(&mut self, text: &mut String, indentation: usize, oddness: usize) {
        let blank = " ".repeat(indentation);
        for _ in 0..=self.0.below(4) {
            if self.0.once_in(6) {
                text.push_str(self.pick(&["# comment\n", "  # comment\n", "\n", "  \n"]));
            }
            text.push_str(&blank);
            text.push_str(self.key(oddness));
            text.push(':');
            match self.0.below(if indentation < 6 { 6 } else { 4 }) {
                4 => {
                    text.push_str(self.pick(&["\n", " # comment\n", " &x\n", "\n\n"]));
                    self.block(text, indentation + 2, oddness);
                    continue;
                }
                5 => {
                    text.push('\n');
                    for _ in 0..=self.0.below(2) {
                        text.push_str(&blank);
                        text.push_str(self.pick(&["- ", "  - ", "-   ", "- - "]));
                        text.push_str(self.scalar(oddness));
                        text.push('\n');
                    }
                    continue;
                }
                _ => {
                    text.push_str(self.pick(&[" ", " ", " ", "  ", "\t"]));
                    text.push_str(self.scalar(oddness));
                }
            }
            text.push_str(self.pick(&["", "", " # comment", "  "]));
            text.push('\n');
        }
        if self.0.once_in(5) {
            text.pop();
        }
    }

    fn flow(&mut self, text: &mut String, oddness: usize) {
        let gap = self.pick(&["", "", " ", "\n", "\n  ", " # comment\n", "\t", "\n\t"]);
        text.push('{');
        text.push_str(gap);
        for entry in 0..self.0.below(4) {
            if entry > 0 {
                text.push_str(self.pick(&[", ", ",", ",\n  ", " ,"]));
            }
            text.push_str(self.key(oddness));
            text.push_str(self.pick(&[": ", ": ", ":", " : ", ":\n  "]));
            text.push_str(self.scalar(oddness));
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
