//! `trainmesh lint`.

mod command;
mod sarif;
