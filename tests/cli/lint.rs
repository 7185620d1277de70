//! The lint as a command, for people and for code reviews.

mod command;
mod sarif;
