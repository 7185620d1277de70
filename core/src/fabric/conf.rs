//! NCCL's configuration file: one `NAME=value` per line, split at the first `=`. Spaces are part of name and value, and
//! lines that start with `#` are comments. NCCL truncates names and values (NCCL 2.30.7, `src/misc/param.cc`).

use super::nccl::MAX_VALUE;
use crate::keys;

/// Path of the file that NCCL reads by default.
pub const NCCL_PATH: &str = "/etc/nccl.conf";
/// Path of the file that AMD's RCCL reads by default.
pub const RCCL_PATH: &str = "/etc/rccl.conf";

/// Returns the downward API's field path of the annotation with the file. It identifies the volumes that project it.
#[must_use]
pub fn field_path() -> String {
    format!("metadata.annotations['{}']", keys::NCCL_CONF)
}

/// Renders a file with `settings` in this order.
#[must_use]
pub fn render<'a>(settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    settings.into_iter().flat_map(|(name, value)| [name, "=", value, "\n"]).collect()
}

/// Parses a file in the same way as NCCL.
pub fn parse(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let settings = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    settings.map(|(name, value)| (truncated(name), truncated(value)))
}

fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_VALUE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_renders() {
        let settings = [("NCCL_IB_HCA", "=mlx5_0,mlx5_1"), ("NCCL_DEBUG", ""), ("NCCL_NET", " IB ")];
        let text = render(settings);
        assert_eq!(text, "NCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_DEBUG=\nNCCL_NET= IB \n");
        assert!(parse(&text).eq(settings));
        assert!(parse("# NCCL_NET=IB\nno sign\n").next().is_none());
    }

    #[test]
    fn truncates_long_values_like_nccl() {
        let text = format!("NCCL_IB_HCA={}", "x".repeat(1024));
        let (name, value) = parse(&text).next().unwrap();
        assert_eq!((name, value.len()), ("NCCL_IB_HCA", 1023));
    }
}
