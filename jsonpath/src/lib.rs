//! Replaces the crate of this name, with which kube-client reads the token of a kubeconfig file's `auth-provider` from the
//! output of a command: `token-key: '{.credential.access_token}'`. Such a path consists of names. The complete grammar, with its
//! filters and regular expressions, takes a twentieth of the binary.

use serde_json::Value;

/// Queries by path.
pub trait JsonPath {
    /// Returns the value at `path`, in the form of `$.credential.access_token`; nothing if a field is missing.
    fn query(&self, path: &str) -> Result<Vec<&Value>, UnsupportedPath>;
}

/// A path does not consist of names.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("supported are only paths of names such as {{.credential.access_token}}")]
pub struct UnsupportedPath;

impl JsonPath for Value {
    fn query(&self, path: &str) -> Result<Vec<&Value>, UnsupportedPath> {
        let names: Vec<&str> = path.strip_prefix("$.").ok_or(UnsupportedPath)?.split('.').collect();
        if !names.iter().all(|name| is_name(name)) {
            return Err(UnsupportedPath);
        }
        Ok(names.iter().try_fold(self, |value, name| value.get(name)).into_iter().collect())
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_of_names_selects_at_most_one_value() {
        let output = json!({"credential": {"access_token": "t", "token_expiry": "e"}, "list": ["x"]});
        for (path, expected) in [
            ("$.credential.access_token", Ok(vec![&json!("t")])),
            ("$.credential.token-expiry", Ok(vec![])),
            ("$.credential.access_token.x", Ok(vec![])),
            ("$.list.0", Ok(vec![])),
            ("$", Err(UnsupportedPath)),
            ("$.", Err(UnsupportedPath)),
            ("credential", Err(UnsupportedPath)),
            ("$.credential..access_token", Err(UnsupportedPath)),
            ("$.list[0]", Err(UnsupportedPath)),
            ("$.credential.*", Err(UnsupportedPath)),
            ("$..access_token", Err(UnsupportedPath)),
        ] {
            assert_eq!(output.query(path), expected, "{path}");
        }
    }
}
