//! Flags with a whole number.

/// Returns the parser of a whole number from 1 to `max`.
pub(super) fn whole_number(max: u32) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let bound = if max == u32::MAX { String::new() } else { format!(" to {max}") };
        let number = text.parse::<u32>().ok().filter(|number| (1..=max).contains(number));
        number.ok_or_else(|| format!("expected a whole number from 1{bound}"))
    }
}
