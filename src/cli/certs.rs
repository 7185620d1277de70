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
use super::server::duration;
use crate::certs::mint;
use trainmesh_core::certs::{Dates, Schedule};
use trainmesh_core::objects::secret::{CA_CRT, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{SERVICE, SERVING_SECRET, WEBHOOK_CONFIGURATION, service_host};
use trainmesh_core::printable::Printable;
use trainmesh_core::scope::Installation;

/// Who may read a key.
const OWNER_ALONE: u32 = 0o600;

/// Make certificates by hand, where the controller shall not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # A CA and a certificate for the webhook of the usual installation
  trainmesh certs generate --out certificates")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a new CA and a certificate that it has signed; the key of the CA is kept nowhere
    Generate(Generate),
}

#[derive(Debug, clap::Args)]
struct Generate {
    /// Service that the apiserver calls
    #[arg(long, value_name = "NAME", default_value = SERVICE)]
    service: String,
    /// Namespace of the Service
    #[arg(short, long, default_value = Installation::DEFAULT_NAMESPACE)]
    namespace: String,
    /// Folder for ca.crt, tls.crt and tls.key; made where there is none
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// How long the CA is good
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = duration)]
    ca_lifetime: Duration,
    /// How long the certificate is good
    #[arg(long, value_name = "DURATION", default_value = "8760h", value_parser = duration)]
    lifetime: Duration,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let Command::Generate(arguments) = &arguments.command;
    generate(arguments)?;
    Ok(Status::Done)
}

fn generate(arguments: &Generate) -> anyhow::Result<()> {
    let Generate { service, namespace, out, ca_lifetime, lifetime, force } = arguments;
    Schedule::new(*ca_lifetime, *lifetime)?;
    let host = service_host(service, namespace);
    let now = Timestamp::now();
    let authority = mint::authority(Dates::starting(now, *ca_lifetime))?;
    let pair = mint::leaf(&authority, &host, Dates::starting(now, *lifetime))
        .with_context(|| format!("making a certificate for {host}"))?;

    fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    let files = [(CA_CRT, authority.pem.as_str(), 0o644), (TLS_CRT, &pair.certificate, 0o644)];
    let files = files.into_iter().chain([(TLS_KEY, pair.key.pem(), OWNER_ALONE)]);
    let files: Vec<_> = files.map(|(name, text, mode)| (out.join(name), text, mode)).collect();
    if let Some((path, ..)) = files.iter().find(|(path, ..)| !force && path.exists()) {
        bail!("{} is there already; --force replaces it", path.display());
    }
    for (path, text, mode) in &files {
        write(path, text, *mode).with_context(|| format!("writing {}", path.display()))?;
    }

    let bundle = serde_json::to_value(ByteString(authority.pem.as_bytes().to_vec()))?;
    let mut stdout = io::stdout();
    writeln!(stdout, "caBundle: {}", bundle.as_str().unwrap_or_default())?;
    let mut stderr = super::stderr(anstream::ColorChoice::Auto);
    let [ca, certificate, key] = [0, 1, 2].map(|index: usize| files[index].0.display());
    super::note(&mut stderr, format_args!("wrote {ca}, {certificate}, {key} for {host}; next:"));
    let steps = [
        format!(
            "1. write the caBundle line into the clientConfig of every webhook of MutatingWebhookConfiguration \
             {WEBHOOK_CONFIGURATION}"
        ),
        format!(
            "2. kubectl -n {namespace} create secret tls {SERVING_SECRET} --cert={certificate} --key={key}, and start the \
             webhook with --tls-cert and --tls-key on those files"
        ),
        format!(
            "3. do it again before {}: nobody renews them",
            Dates::starting(now, (*lifetime).min(*ca_lifetime)).not_after.strftime("%Y-%m-%d")
        ),
    ];
    for step in steps {
        writeln!(stderr, "  {}", Printable(step))?;
    }
    Ok(())
}

/// Writes `text` beside `path` and puts it in its place, so that nobody ever reads half of it, or a key that others could
/// open for a moment.
fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let part = path.with_extension("part");
    // What an attempt that was cut off has left may have other permissions.
    if let Err(error) = fs::remove_file(&part)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
    file.write_all(text.as_bytes())?;
    // The mask of the process has no say: a certificate is for everyone to read, a key for its owner.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&part, path)
}
