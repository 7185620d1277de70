//! The lint: every check with a pod in which it finds something and one in which it nearly does, what a configuration
//! changes, and what a user of kubectl sees of it.

mod admission;
mod catalogue;
mod containers;
mod environment;
mod pods;
mod world;
