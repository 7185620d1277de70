//! Prefixes of log lines: those of `kubectl logs`, mpirun, torchrun, PyTorch and NCCL.

use jiff::Timestamp;

/// Maximum number of prefixes in brackets: those of mpirun, torchrun and PyTorch, one each.
const MAX_PREFIXES: usize = 4;
/// Start of a line of a structured log.
const JSON_OBJECT: &str = "{\"";
/// Maximum length of a prefix in bytes.
const MAX_PREFIX: usize = 64;
/// Maximum number of words before the text of an NCCL line: times in several formats, process, device, file, function.
const MAX_WORDS: usize = 24;
/// Levels of NCCL's log.
const LEVELS: [(&str, Level); 2] = [("NCCL INFO ", Level::Info), ("NCCL WARN ", Level::Warn)];

/// Level of a line of NCCL's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Also errors that NCCL expects, while it tests what the node supports.
    Info,
    /// An error.
    Warn,
}

/// A line without its prefixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    /// Pod and container, as `kubectl logs --prefix` prints them.
    pub(super) container: Option<(&'a str, &'a str)>,
    /// Time at which the container runtime read the line, as `kubectl logs --timestamps` prints it.
    pub(super) time: Option<Timestamp>,
    /// Rank in the whole job, as PyTorch prints it: `[rank5]:`.
    pub(super) rank: Option<u32>,
    /// Process that wrote a line of NCCL, by its id in the container.
    pub(super) process: Option<u32>,
    /// Level of a line of NCCL's log; `None` for other lines.
    pub(super) level: Option<Level>,
    /// True if the line is an object in JSON.
    pub(super) is_json: bool,
    pub(super) text: &'a str,
}

impl<'a> LogLine<'a> {
    pub(super) fn parse(line: &'a str) -> Self {
        let mut parsed = Self { text: line.trim_end(), ..Self::default() };
        if let Some((container, rest)) = split_container(parsed.text) {
            parsed.container = Some(container);
            parsed.text = rest;
        }
        if let Some((time, rest)) = split_time(parsed.text) {
            parsed.time = Some(time);
            parsed.text = rest;
        }
        for _ in 0..MAX_PREFIXES {
            let Some((name, rest)) = split_prefix(parsed.text) else { break };
            parsed.rank = name.strip_prefix("rank").and_then(|rank| rank.parse().ok()).or(parsed.rank);
            parsed.text = rest;
        }
        parsed.is_json = parsed.text.starts_with(JSON_OBJECT);
        let level = LEVELS.iter().find_map(|(name, level)| Some((parsed.text.split_once(name)?, *level)));
        if let Some(((prefix, text), level)) = level {
            parsed.level = Some(level);
            parsed.process = process(prefix);
            parsed.text = text;
        }
        parsed
    }
}

/// Splits `[pod/NAME/CONTAINER] ` off.
fn split_container(line: &str) -> Option<((&str, &str), &str)> {
    let (source, rest) = line.strip_prefix("[pod/")?.split_once("] ")?;
    let (pod, container) = source.split_once('/')?;
    let is_name = |name: &str| {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        !name.is_empty() && name.len() <= 253 && name.bytes().all(is_valid)
    };
    (is_name(pod) && is_name(container)).then_some(((pod, container), rest))
}

/// Splits a time as in RFC 3339 off.
fn split_time(line: &str) -> Option<(Timestamp, &str)> {
    let (time, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_time = time.len() <= MAX_PREFIX && time.starts_with(|first: char| first.is_ascii_digit());
    Some((is_time.then(|| time.parse().ok())??, rest))
}

/// Splits `[1,0]<stdout>:`, `[default0]:` or `[rank0]:` off.
fn split_prefix(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (stream, text) = rest.split_once(':')?;
    let is_prefix = name.len() <= MAX_PREFIX && matches!(stream, "" | "<stdout>" | "<stderr>");
    is_prefix.then_some((name, text.trim_start()))
}

/// Returns the id of the process in `HOST:PROCESS:THREAD`.
fn process(prefix: &str) -> Option<u32> {
    prefix.split_whitespace().take(MAX_WORDS).find_map(|word| {
        let mut parts = word.rsplitn(3, ':');
        let (thread, process, host) = (parts.next()?, parts.next()?, parts.next()?);
        let _: u32 = thread.parse().ok()?;
        // A time has three numbers.
        let is_host = !host.is_empty() && !host.bytes().all(|byte| byte.is_ascii_digit());
        process.parse().ok().filter(|_| is_host)
    })
}
