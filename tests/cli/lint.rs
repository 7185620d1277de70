//! `trainmesh lint`.

mod command;
mod sarif;
mod training;
