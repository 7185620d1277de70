//! Tables and ages as kubectl prints them.

use jiff::SignedDuration;

use trainmesh_core::printable::Printable;

/// Columns that are as wide as their widest cell, three spaces apart. Cells are shown in one line.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| Printable(cell).to_string()).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}   "));
        padded.collect::<String>().trim_end().to_owned() + "\n"
    };
    let mut text = line(&mut header.iter().copied());
    for row in &rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// The two largest units that matter: `45s`, `5m12s`, `47m`, `3h20m`, `3d4h`, `40d`.
pub(super) fn age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |large: i64, unit: &str, small: i64, part: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{part}") }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if hours < 3 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(-3, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(312, "5m12s")]
    #[case(47 * 60 + 3, "47m")]
    #[case(3 * 3600 + 20 * 60, "3h20m")]
    #[case(30 * 3600, "30h")]
    #[case(76 * 3600, "3d4h")]
    #[case(40 * 86400, "40d")]
    fn ages(#[case] seconds: i64, #[case] expected: &str) {
        assert_eq!(age(SignedDuration::from_secs(seconds)), expected);
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["team-a", "llama-0", "x"], ["b", "y", "long words"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "NAMESPACE   NAME      WHY\nteam-a      llama-0   x\nb           y         long words\n";
        assert_eq!(table(&["NAMESPACE", "NAME", "WHY"], &rows), expected);
    }
}
