//! Patterns of the name of a file or a directory.

/// A pattern of a name.
#[derive(Clone, Debug)]
pub(super) struct NamePattern {
    tokens: Vec<Token>,
    /// True if the pattern is `**`, which matches any number of directories.
    is_any_directories: bool,
}

/// A part of a pattern.
#[derive(Clone, Debug)]
enum Token {
    /// `*`: any number of characters.
    Many,
    /// `?`: any character.
    One,
    Character(char),
    /// `[…]`: a character of one of the ranges, or with `!` of none.
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl NamePattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut tokens, mut rest) = (Vec::new(), text.chars());
        while let Some(character) = rest.next() {
            tokens.push(match character {
                '*' => Token::Many,
                '?' => Token::One,
                '[' => class(&mut rest)?,
                '\\' => Token::Character(rest.next().ok_or("ends with a backslash")?),
                other => Token::Character(other),
            });
        }
        Ok(Self { tokens, is_any_directories: text == "**" })
    }

    pub(super) fn is_any_directories(&self) -> bool {
        self.is_any_directories
    }

    /// Returns true if the pattern matches `name`, in time bounded by the product of their lengths: after a mismatch, only the last
    /// `*` takes one more character.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut next) = (0, 0);
        let mut star = None;
        while at < name.len() {
            match self.tokens.get(next) {
                Some(Token::Many) => {
                    star = Some((next, at));
                    next += 1;
                }
                Some(token) if token.matches(name[at]) => (at, next) = (at + 1, next + 1),
                _ => {
                    let Some((position, taken)) = star else { return false };
                    star = Some((position, taken + 1));
                    (at, next) = (taken + 1, position + 1);
                }
            }
        }
        self.tokens[next..].iter().all(|token| matches!(token, Token::Many))
    }
}

impl Token {
    fn matches(&self, character: char) -> bool {
        match self {
            Self::Many | Self::One => true,
            Self::Character(own) => *own == character,
            Self::Class { is_negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) != *is_negated
            }
        }
    }
}

/// Parses a class after its `[`. A `]` at its start belongs to it.
fn class(rest: &mut std::str::Chars<'_>) -> Result<Token, String> {
    let is_negated = rest.as_str().starts_with(['!', '^']);
    if is_negated {
        rest.next();
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let first = match rest.next().ok_or("a [ has no ]; write \\[ for the character")? {
            ']' if !ranges.is_empty() => return Ok(Token::Class { is_negated, ranges }),
            '[' if rest.as_str().starts_with(':') => {
                return Err("classes such as [:alpha:] are not supported".to_owned());
            }
            '\\' => rest.next().ok_or("ends with a backslash")?,
            other => other,
        };
        let mut after = rest.clone();
        let last = (after.next() == Some('-')).then(|| after.next()).flatten().filter(|last| *last != ']');
        if last.is_some() {
            *rest = after;
        }
        ranges.push((first, last.unwrap_or(first)));
    }
}
