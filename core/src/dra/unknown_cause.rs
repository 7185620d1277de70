//! Why the content of a claim or template is unknown.

use std::fmt;

/// Why the content of a claim or template, or of one of its requests, is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownCause {
    /// The input does not contain the object, and no cluster was read.
    #[default]
    NotInInput,
    /// The first list of the cluster's objects is not complete.
    NotListed,
    /// The cluster forbids the list, or does not serve a known version.
    NotReadable,
    /// The object does not exist.
    Missing,
    /// The namespace has more objects than are kept.
    LeftOut,
    /// The object requests devices in a form that is not known, or more than are read.
    Invalid,
    /// The pod does not declare the claim, or the claim names no object.
    Undeclared,
    /// The object does not contain the request that a container refers to.
    NoSuchRequest,
}

impl UnknownCause {
    /// Returns how to make the content known, as a lowercase fragment.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::NotInInput => "add its manifest to the input, or use --cluster",
            Self::NotListed => "create the job again",
            Self::NotReadable => "allow list and watch of the API group resource.k8s.io",
            Self::Missing => "create it before the pod",
            Self::LeftOut => "delete unused ones",
            Self::Invalid => "correct it, or request fewer devices",
            Self::Undeclared => "declare it in resourceClaims with a template",
            Self::NoSuchRequest => "refer to one of its requests",
        }
    }
}

/// Written after the object, such as `template gpus`.
impl fmt::Display for UnknownCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotInInput => "is unknown",
            Self::NotListed => "is not read yet",
            Self::NotReadable => "cannot be read",
            Self::Missing => "does not exist",
            Self::LeftOut => "is not read: there are too many",
            Self::Invalid => "has requests that trainmesh cannot read",
            Self::Undeclared => "is not declared",
            Self::NoSuchRequest => "lacks a request that the container refers to",
        })
    }
}
