//! The engine.

pub mod proxy_config;
