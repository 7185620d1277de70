//! Prints tables as kubectl does.

use std::iter::repeat_n;

use trainmesh_core::printable::Printable;
use trainmesh_core::render::Layout;

/// Cell without content.
pub(super) const NONE: &str = "-";

/// Columns of the lines below a row.
const INDENT: usize = 4;

/// Formats a table as [`format_table`] does, if it fits. Otherwise, the cells of the columns `below` are in lines of
/// their own below their row, with the name of the column if there are several.
pub(super) fn format_fitted_table(header: &[&str], rows: &[Vec<String>], below: &[&str], layout: Layout) -> String {
    let complete = format_table(header, rows);
    if complete.lines().all(|line| layout.fits(line.chars().count())) {
        return complete;
    }
    let is_below = |column: usize| header.get(column).is_some_and(|name| below.contains(name));
    let columns = |row: &Vec<String>| {
        row.iter().enumerate().filter(|(column, _)| !is_below(*column)).map(|(_, cell)| cell.clone()).collect()
    };
    let narrow_header: Vec<&str> = header.iter().filter(|name| !below.contains(name)).copied().collect();
    let narrow = format_table(&narrow_header, &rows.iter().map(columns).collect::<Vec<Vec<String>>>());
    let mut lines = narrow.lines();
    let mut text = lines.next().unwrap_or_default().to_owned() + "\n";
    for (line, row) in lines.zip(rows) {
        text += line;
        text.push('\n');
        let details =
            row.iter().enumerate().filter(|(column, cell)| is_below(*column) && !cell.is_empty() && *cell != NONE);
        for (column, detail) in details {
            let name = header.get(column).filter(|_| below.len() > 1);
            let name = name.map(|name| format!("{}: ", name.to_lowercase())).unwrap_or_default();
            text.extend(repeat_n(' ', INDENT));
            text += &layout.wrap(&format!("{name}{}", Printable(detail)), INDENT, INDENT + 2);
            text.push('\n');
        }
    }
    text
}

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
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::no_terminal(None, "NAME   AGE   REASON\na      1s    x y z\nb      2s    -\n")]
    #[case::fits(Some(19), "NAME   AGE   REASON\na      1s    x y z\nb      2s    -\n")]
    #[case::narrow(Some(18), "NAME   AGE\na      1s\n    x y z\nb      2s\n")]
    #[case::narrower(Some(7), "NAME   AGE\na      1s\n    x y\n      z\nb      2s\n")]
    fn long_cells_are_below_their_row(#[case] width: Option<usize>, #[case] expected: &str) {
        let rows = [["a", "1s", "x y z"], ["b", "2s", "-"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(format_fitted_table(&["NAME", "AGE", "REASON"], &rows, &["REASON"], Layout { width }), expected);
    }

    #[test]
    fn several_cells_below_their_row_have_names() {
        let rows = [["a", "1s", "x y z"], ["b", "2s", "-"]].map(|row| row.map(str::to_owned).to_vec());
        let text =
            format_fitted_table(&["NAME", "AGE", "REASON"], &rows, &["AGE", "REASON"], Layout { width: Some(17) });
        assert_eq!(text, "NAME\na\n    age: 1s\n    reason: x y z\nb\n    age: 2s\n");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["team-a", "llama-0", "x"], ["b", "y", "long words"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "NAMESPACE   NAME      REASON\nteam-a      llama-0   x\nb           y         long words\n";
        assert_eq!(format_table(&["NAMESPACE", "NAME", "REASON"], &rows), expected);
    }
}
