//! Settings in the command of a container: `export NAME=VALUE`, and `mpirun -x NAME=VALUE`.
//!
//! The parser supports words, quotes, comments and command separators. It does not run the script: a value with an
//! expansion is unknown, and conditions are ignored.

use crate::pod::Container;

/// A setting in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommandSetting<'a> {
    pub(super) name: &'a str,
    /// The value; `None` if it is unknown, or if `mpirun` passes the variable of its own environment.
    pub(super) value: Option<&'a str>,
    /// Index in the command line: the command, followed by the arguments.
    pub(super) index: usize,
    /// True if `mpirun` passes the setting to the ranks; false if the shell exports it.
    pub(super) passed: bool,
}

/// Settings in the command of a container.
#[derive(Debug, Default)]
pub(super) struct CommandSettings<'a> {
    pub(super) settings: Vec<CommandSetting<'a>>,
    /// True if the command runs `mpirun`.
    pub(super) runs_mpirun: bool,
    /// True if a shell expansion determines which variables `mpirun` passes, so that their names are unknown.
    pub(super) passes_unknown: bool,
}

/// Maximum length in bytes of a command that is parsed, to bound the work.
const MAX_COMMAND: usize = 64 * 1024;
/// Maximum nesting of quoted scripts, such as `bash -c "su -c 'mpirun …'"`.
const MAX_DEPTH: usize = 3;
/// Programs that start MPI ranks with Open MPI's options.
const LAUNCHERS: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];

/// State of the parser: the command or option that the next word belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Other,
    Export,
    Mpirun,
    /// After an option of `mpirun`, which may have a value.
    Option,
    /// After `mpirun -x`.
    Pass,
}

impl<'a> CommandSettings<'a> {
    /// Parses the command line of `container`.
    pub(super) fn parse(container: Container<'a>) -> Self {
        let mut result = Self::default();
        let mut mode = Mode::Other;
        let mut remaining = MAX_COMMAND;
        for (index, text) in container.command_line().enumerate() {
            // The rest is skipped, not truncated: a truncated word would have another meaning.
            if text.len() > remaining {
                break;
            }
            remaining -= text.len();
            if text.contains(char::is_whitespace) {
                result.read_script(text, index, MAX_DEPTH);
                mode = Mode::Other;
            } else {
                mode = result.read_word(text, index, mode);
            }
        }
        result
    }

    fn read_script(&mut self, text: &'a str, index: usize, depth: usize) {
        if !text.contains("export") && !LAUNCHERS.iter().any(|launcher| text.contains(launcher)) {
            return;
        }
        let mut mode = Mode::Other;
        let mut rest = text;
        while let Some((token, tail)) = next_token(rest) {
            rest = tail;
            match token {
                Token::Separator => mode = Mode::Other,
                Token::Word(word) => {
                    let inner = unquoted(word);
                    if depth > 0 && inner.len() < word.len() && inner.contains(char::is_whitespace) {
                        self.read_script(inner, index, depth - 1);
                    }
                    mode = self.read_word(word, index, mode);
                }
            }
        }
    }

    fn read_word(&mut self, word: &'a str, index: usize, mode: Mode) -> Mode {
        let program = word.rsplit('/').next().unwrap_or(word);
        match mode {
            Mode::Other | Mode::Mpirun | Mode::Option if LAUNCHERS.contains(&program) => {
                self.runs_mpirun = true;
                Mode::Mpirun
            }
            Mode::Other if word == "export" => Mode::Export,
            Mode::Export => {
                self.add(word, index, false);
                Mode::Export
            }
            Mode::Mpirun | Mode::Option if word == "-x" => Mode::Pass,
            Mode::Mpirun | Mode::Option if word.starts_with('-') => Mode::Option,
            Mode::Mpirun => {
                // The expansion may contain options.
                self.passes_unknown |= unquoted(word).starts_with('$');
                Mode::Mpirun
            }
            Mode::Option => Mode::Mpirun,
            Mode::Pass => {
                self.passes_unknown |= word.split('=').next().is_some_and(|name| name.contains('$'));
                self.add(word, index, true);
                Mode::Mpirun
            }
            Mode::Other => Mode::Other,
        }
    }

    fn add(&mut self, word: &'a str, index: usize, passed: bool) {
        let word = unquoted(word);
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty();
        if !is_name || (value.is_none() && !passed) {
            return;
        }
        let value = value.map(unquoted).filter(|value| !value.contains(['$', '`', '"', '\'', '\\']));
        // Of several values, for example in the branches of a condition, the one that takes effect is unknown.
        let known = self.settings.iter_mut().find(|known| known.name == name && known.passed == passed);
        match known {
            Some(known) if known.value != value => known.value = None,
            Some(_) => {}
            None => self.settings.push(CommandSetting { name, value, index, passed }),
        }
    }
}

enum Token<'a> {
    Word(&'a str),
    Separator,
}

/// Splits the first word or separator off `text`.
fn next_token(text: &str) -> Option<(Token<'_>, &str)> {
    let mut text = text;
    loop {
        text = text.trim_start_matches([' ', '\t', '\r']);
        match text.strip_prefix("\\\n").or_else(|| text.strip_prefix("\\\r\n")) {
            Some(rest) => text = rest,
            None => break,
        }
    }
    let first = text.chars().next()?;
    if first == '#' {
        let end = text.find('\n').unwrap_or(text.len());
        return Some((Token::Separator, &text[end..]));
    }
    if is_separator(first) {
        return Some((Token::Separator, &text[first.len_utf8()..]));
    }
    let (word, rest) = text.split_at(word_end(text));
    Some((Token::Word(word), rest))
}

/// Returns the length of the word at the start of `text`, with its quotes.
fn word_end(text: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        let quoted_by = quote;
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted_by != Some('\'') => {
                if quoted_by.is_none() && text[position + 1..].starts_with(['\n', '\r']) {
                    return position;
                }
                escaped = true;
            }
            '"' | '\'' if quoted_by.is_none() => quote = Some(character),
            _ if quoted_by == Some(character) => quote = None,
            _ if quoted_by.is_none() && (character.is_whitespace() || is_separator(character)) => return position,
            _ => {}
        }
    }
    text.len()
}

fn is_separator(character: char) -> bool {
    matches!(character, ';' | '&' | '|' | '(' | ')' | '\n')
}

/// Removes the quotes around the whole of `text`.
fn unquoted(text: &str) -> &str {
    let strip = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    strip('"').or_else(|| strip('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests;
