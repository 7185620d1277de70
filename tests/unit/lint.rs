//! The lint: each check with a pod that triggers it and one that almost does, the settings that change checks, and the
//! output that kubectl users see.

mod admission;
mod catalogue;
mod claims;
mod compute_domains;
mod containers;
mod decisions;
mod effects;
mod environment;
mod istio;
mod jobs;
mod pods;
mod positions;
mod quota;
mod scenario;
mod services;
mod severities;
mod spelling;
mod startup;
mod training;
