//! `trainmesh certs generate`.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use jiff::Timestamp;
use k8s_openapi::ByteString;

use super::Status;
use super::terminal::stderr_layout;
use crate::certs::issue;
use trainmesh_core::certs::{Schedule, Validity};
use trainmesh_core::dns;
use trainmesh_core::duration::parse_with_days;
use trainmesh_core::objects::secret::{CA_CRT, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{SERVICE, WEBHOOK_CONFIGURATION, service_host};
use trainmesh_core::printable::Printable;
use trainmesh_core::scope::Installation;

/// Secret of a certificate that was not issued by the controller, as in `certs/static-pair.sh`. The Secrets of the other
/// modes belong to the chart or to cert-manager.
const STATIC_SECRET: &str = "trainmesh-webhook-static";
/// File mode of a private key.
const OWNER_ONLY: u32 = 0o600;

/// Manage certificates manually, if you don't want the controller to manage them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Generate a CA and a serving certificate for the default installation
  trainmesh certs generate --out certificates

  # Generate a serving certificate for 90 days
  trainmesh certs generate --out certificates --lifetime 90d")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Generate a CA and a serving certificate signed by it. The CA's private key is not stored
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
struct Generate {
    /// Name of the Service that the apiserver calls
    #[arg(long, value_name = "NAME", default_value = SERVICE, value_parser = parse_label)]
    service: String,
    /// Namespace of the Service
    #[arg(short, long, default_value = Installation::DEFAULT_NAMESPACE, value_parser = parse_label)]
    namespace: String,
    /// Directory for ca.crt, tls.crt and tls.key; created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Lifetime of the CA
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = parse_with_days)]
    ca_lifetime: Duration,
    /// Lifetime of the serving certificate
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = parse_with_days)]
    lifetime: Duration,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Command::Generate(arguments) = &arguments.command;
    generate(arguments)?;
    Ok(Status::Success)
}

fn generate(arguments: &Generate) -> anyhow::Result<()> {
    let Generate { service, namespace, out, ca_lifetime, lifetime, force } = arguments;
    Schedule::new(*ca_lifetime, *lifetime).context("--ca-lifetime and --lifetime")?;
    let host = service_host(service, namespace);
    let now = Timestamp::now();
    let ca = issue::ca(Validity::from_lifetime(now, *ca_lifetime))?;
    let pair = issue::serving_certificate(&ca, &host, Validity::from_lifetime(now, *lifetime))
        .with_context(|| format!("could not issue a certificate for {host}"))?;

    if out.is_file() {
        bail!("{} is a file: --out needs a directory", out.display());
    }
    fs::create_dir_all(out).with_context(|| format!("could not create directory {}", out.display()))?;
    let files = [(CA_CRT, ca.pem.as_str(), 0o644), (TLS_CRT, &pair.certificate, 0o644)];
    let files = files.into_iter().chain([(TLS_KEY, pair.key.pem(), OWNER_ONLY)]);
    let files: Vec<_> = files.map(|(name, text, mode)| (out.join(name), text, mode)).collect();
    if let Some((path, ..)) = files.iter().find(|(path, ..)| !force && path.exists()) {
        bail!("{} already exists; use --force to overwrite it", path.display());
    }
    for (path, text, mode) in &files {
        write(path, text, *mode).with_context(|| format!("could not write {}", path.display()))?;
    }

    let bundle = serde_json::to_value(ByteString(ca.pem.as_bytes().to_vec()))?;
    let mut stdout = io::stdout();
    writeln!(stdout, "caBundle: {}", bundle.as_str().unwrap_or_default())?;
    let mut stderr = super::stderr(anstream::ColorChoice::Auto);
    let [ca, certificate, key] = [0, 1, 2].map(|index: usize| files[index].0.display());
    super::print_note(&mut stderr, format_args!("wrote {ca}, {certificate}, {key} for {host}; next steps:"));
    let command = format!(
        "kubectl -n {namespace} create secret generic {STATIC_SECRET} --type=kubernetes.io/tls \
             --from-file={certificate} --from-file={key} --from-file={ca}"
    );
    // Not wrapped, so that it can be copied.
    writeln!(stderr, "  1. {}", Printable(command))?;
    let steps = [
        format!(
            "2. set these values of the chart: certificates.mode=provided, certificates.provided.secretName={STATIC_SECRET}, \
             and certificates.provided.caBundle to the line above; without Helm, add that line to the clientConfig of every \
             webhook in MutatingWebhookConfiguration {WEBHOOK_CONFIGURATION}"
        ),
        "3. for an installation that runs, use certs/static-pair.sh instead: it replaces the certificate without failed \
         calls (certs/README.md)"
            .to_owned(),
        format!(
            "4. repeat these steps before {}: the certificates are not renewed automatically",
            Validity::from_lifetime(now, (*lifetime).min(*ca_lifetime)).not_after.strftime("%Y-%m-%d")
        ),
    ];
    for step in steps {
        let indent = "  2. ".len();
        writeln!(stderr, "  {}", stderr_layout().wrap(&Printable(step).to_string(), 2, indent))?;
    }
    Ok(())
}

/// Parses the name of a Service or a namespace.
fn parse_label(text: &str) -> Result<String, String> {
    if dns::is_label(text) {
        Ok(text.to_owned())
    } else {
        Err("expected a name of at most 63 lowercase letters, digits and -".to_owned())
    }
}

/// Writes `text` to a temporary file and renames it to `path`, so that no reader sees an incomplete file or a key with
/// loose permissions.
fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let temporary = path.with_extension("part");
    // A leftover of an interrupted run may have other permissions.
    if let Err(error) = fs::remove_file(&temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    // Set explicitly, because the umask applies to the mode given at creation.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}
