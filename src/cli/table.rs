//! Prints tables as kubectl does.

use trainmesh_core::printable::Printable;

/// Formats columns that are as wide as their widest cell, three spaces apart. Each cell is printed in one line.
pub(super) fn format_table(header: &[&str], rows: &[Vec<String>]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["team-a", "llama-0", "x"], ["b", "y", "long words"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "NAMESPACE   NAME      REASON\nteam-a      llama-0   x\nb           y         long words\n";
        assert_eq!(format_table(&["NAMESPACE", "NAME", "REASON"], &rows), expected);
    }
}
