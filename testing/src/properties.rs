//! What holds for every text that trainmesh reads, for the tests with damaged texts and for the fuzzer.

pub mod configuration;
pub mod manifest;
pub mod proxy_config;
