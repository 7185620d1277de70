//! The file that NCCL reads: one `NAME=value` a line, the first `=` splits, no blanks are trimmed, and a line whose first
//! character is `#` is passed over (NCCL, `src/misc/param.cc`).

use crate::keys;

/// What NCCL reads where no user file comes before it.
pub const NCCL: &str = "/etc/nccl.conf";
/// What RCCL, the library of AMD, reads in its place.
pub const RCCL: &str = "/etc/rccl.conf";

/// The downward API's name of the annotation that holds the file: by it a volume with the file is known.
#[must_use]
pub fn field_path() -> String {
    format!("metadata.annotations['{}']", keys::NCCL_CONF)
}

/// The file that holds `settings`, in their order.
#[must_use]
pub fn render<'a>(settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    settings.into_iter().flat_map(|(name, value)| [name, "=", value, "\n"]).collect()
}

/// The settings that NCCL reads from `text`.
pub fn read(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_nccl_reads() {
        let settings = [("NCCL_IB_HCA", "=mlx5_0,mlx5_1"), ("NCCL_DEBUG", ""), ("NCCL_NET", " IB ")];
        let text = render(settings);
        assert_eq!(text, "NCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_DEBUG=\nNCCL_NET= IB \n");
        assert!(read(&text).eq(settings));
        assert!(read("# NCCL_NET=IB\nno sign\n").next().is_none());
    }
}
