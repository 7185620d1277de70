//! Properties of every input that trainmesh parses, for the tests with corrupted inputs and for the fuzzer.

pub mod configuration;
pub mod manifest;
pub mod proxy_config;
