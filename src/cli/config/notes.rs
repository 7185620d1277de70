//! Warnings and notes about valid configurations.

use anstream::ColorChoice;

use crate::cli::{print_note, print_warning, stderr};
use trainmesh_core::config::{Configuration, LostProfiles, Profile, Traffic};
use trainmesh_core::duration;
use trainmesh_core::fabric::misspelled_machine;

/// Prints what is probably a mistake in a configuration. `lacks_controller` is true if the values disable the controller.
pub(super) fn report(configuration: &Configuration, lacks_controller: bool) {
    report_missing_pod_ranges(configuration);
    report_complete_ranges(configuration);
    report_ineffective_ranges(configuration);
    report_long_wait(configuration);
    report_missing_controller(configuration, lacks_controller);
    report_limited_default(configuration);
    report_replaced_profiles(configuration);
    report_host_access(configuration);
    report_misspelled_machines(configuration);
    report_unlisted_machines(configuration);
    report_absent_interfaces(configuration);
    report_accelerators(configuration);
    report_proxy_entry(configuration);
    report_undelivered_settings(configuration);
    report_suggested_settings(configuration);
}

/// Prints a warning about the profiles of a file whose list a later file replaces.
pub(super) fn report_lost_profiles(names: &[String], lost_profiles: &[LostProfiles]) {
    let file = |index: usize| names.get(index).map_or("", String::as_str);
    for lost in lost_profiles {
        let (profiles, from, by) = (lost.names.join(", "), file(lost.file), file(lost.by));
        print_warning(
            &mut stderr(ColorChoice::Auto),
            format_args!(
                "{by} replaces fabric.profiles of {from}, so that {profiles} does not exist: Helm replaces lists; repeat the \
                 profiles in the last file that has the list"
            ),
        );
    }
}

/// Prints a warning if the default mode of traffic is refused for every pod.
fn report_missing_pod_ranges(configuration: &Configuration) {
    let mesh = &configuration.mesh;
    if mesh.enabled && mesh.traffic == Traffic::Direct && mesh.pod_cidrs.is_empty() {
        print_warning(
            &mut stderr(ColorChoice::Auto),
            format_args!(
                "mesh.traffic is direct without mesh.podCIDRs, so that the mode is refused for every pod: list the IP ranges \
                 of the pods; `trainmesh doctor` suggests them"
            ),
        );
    }
}

/// Prints a warning for each list of ranges that contains every address of a family.
fn report_complete_ranges(configuration: &Configuration) {
    let mut stderr = stderr(ColorChoice::Auto);
    for (list, family) in configuration.mesh.complete_ranges() {
        print_warning(
            &mut stderr,
            format_args!(
                "mesh.{list} contains every address of {family}, so that proxies capture no connection to one in the \
                 traffic mode direct: list only the ranges that the mesh excludes, and those of the pods"
            ),
        );
    }
}

/// Prints a warning for each range of pods that has no effect.
fn report_ineffective_ranges(configuration: &Configuration) {
    let mut stderr = stderr(ColorChoice::Auto);
    for problem in configuration.mesh.ineffective_pod_ranges() {
        print_warning(&mut stderr, format_args!("mesh.podCIDRs: {problem}"));
    }
}

/// Prints a warning if pods wait long for a proxy that does not become ready.
fn report_long_wait(configuration: &Configuration) {
    if let Some(wait) = configuration.mesh.long_wait() {
        print_warning(
            &mut stderr(ColorChoice::Auto),
            format_args!(
                "mesh.waitTimeout is {}, during which a pod whose proxy does not become ready keeps its devices: set \
                 a few minutes, in which a proxy starts",
                duration::format_with_days(wait)
            ),
        );
    }
}

/// Prints a warning if the default gang mode is refused for every job, because no controller creates its `PodGroups`.
fn report_missing_controller(configuration: &Configuration, lacks_controller: bool) {
    let gang = &configuration.gang;
    if lacks_controller && gang.enabled && gang.default.has_objects() {
        print_warning(
            &mut stderr(ColorChoice::Auto),
            format_args!(
                "gang.default is {}, but controller.enabled is false, so that nothing creates PodGroups, and the mode is refused \
                 for every job: enable the controller, or select another mode",
                gang.default
            ),
        );
    }
}

/// Prints a warning if only some namespaces may use the default profile.
fn report_limited_default(configuration: &Configuration) {
    let fabric = &configuration.fabric;
    let Some(name) = &fabric.default.0 else { return };
    let entry = fabric.profiles.find(name.as_str());
    if fabric.enabled && entry.is_some_and(|entry| entry.profile.namespaces.is_some()) {
        print_warning(
            &mut stderr(ColorChoice::Auto),
            format_args!(
                "fabric.default is {name}, which is limited to namespaces, so that it is refused for pods of all others: \
                 set none, and label the namespaces of the profile trainmesh.dev/fabric={name}"
            ),
        );
    }
}

/// Prints a warning for each profile that replaces a built-in one.
fn report_replaced_profiles(configuration: &Configuration) {
    let mut stderr = stderr(ColorChoice::Auto);
    for name in configuration.fabric.profiles.replaced() {
        print_warning(
            &mut stderr,
            format_args!(
                "profile {name} replaces the built-in profile of this name for all pods that select it: to keep both, change \
                 its name"
            ),
        );
    }
}

/// Returns the custom profiles with their names.
fn custom_profiles(configuration: &Configuration) -> impl Iterator<Item = (&str, &Profile)> {
    let profiles = &configuration.fabric.profiles;
    let custom = profiles.all().into_iter().filter(|(name, _)| profiles.is_custom(name));
    custom.map(|(name, entry)| (name, &entry.profile))
}

/// Prints a note for each custom profile about which `text` returns one.
fn print_profile_notes(configuration: &Configuration, text: impl Fn(&str, &Profile) -> Option<String>) {
    let mut stderr = stderr(ColorChoice::Auto);
    for text in custom_profiles(configuration).filter_map(|(name, profile)| text(name, profile)) {
        print_note(&mut stderr, format_args!("{text}"));
    }
}

/// Prints a note for each custom profile that any opted-in namespace can use to reach the node.
fn report_host_access(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        (profile.grants_host_access() && profile.namespaces.is_none()).then(|| {
            format!(
                "profile {name} gives pods of every opted-in namespace privileges, host paths or the host network: \
                 list the namespaces that may use it in `namespaces.names`"
            )
        })
    });
}

/// Prints a warning for each custom profile that lists a machine which does not exist, or to which it does not apply.
fn report_misspelled_machines(configuration: &Configuration) {
    let mut stderr = stderr(ColorChoice::Auto);
    for (name, profile) in custom_profiles(configuration) {
        let mut machines = profile.exact_machines();
        let misspelled = machines.find_map(|machine| Some((machine, misspelled_machine(machine)?)));
        if let Some((machine, near)) = misspelled {
            print_warning(
                &mut stderr,
                format_args!("profile {name}: no instance type is called {machine}: did you mean {near}?"),
            );
        }
        if let Some(machine) = profile.excluded_machine() {
            print_warning(
                &mut stderr,
                format_args!(
                    "profile {name} has a ratio for {machine}, to which it does not apply: list the machine in \
                     `match.machines`, or remove the ratio"
                ),
            );
        }
    }
}

/// Prints a note for each custom profile with settings for one machine that pods on another machine also get.
fn report_unlisted_machines(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        let machine = profile.unlisted_machine()?;
        Some(format!(
            "profile {name} selects the machine {machine}, but also applies to pods that select another one: list \
             {machine} in `match.machines`"
        ))
    });
}

/// Prints a warning for each custom profile whose settings name interfaces that it does not attach.
fn report_absent_interfaces(configuration: &Configuration) {
    let mut stderr = stderr(ColorChoice::Auto);
    for (name, profile) in custom_profiles(configuration) {
        for (variable, interface) in profile.absent_interfaces() {
            print_warning(
                &mut stderr,
                format_args!("profile {name}: {variable} names {interface}, which is not in `networks.gke.interfaces`"),
            );
        }
    }
}

/// Prints a warning for each accelerator in the resources of a custom profile.
fn report_accelerators(configuration: &Configuration) {
    let mut stderr = stderr(ColorChoice::Auto);
    for (name, profile) in custom_profiles(configuration) {
        for accelerator in profile.listed_accelerators() {
            print_warning(
                &mut stderr,
                format_args!(
                    "profile {name}: `resources` contains {accelerator}, an accelerator of `match.gpuResources`, of which pods \
                     request their own number: list adapters and huge pages only"
                ),
            );
        }
    }
}

/// Prints a warning if the proxy is one of the sidecars to terminate.
fn report_proxy_entry(configuration: &Configuration) {
    let termination = &configuration.termination;
    if termination.lists_proxy() {
        print_warning(
            &mut stderr(ColorChoice::Auto),
            format_args!(
                "termination.helpers has an entry for {}, which is the proxy and needs none: remove the entry",
                termination.proxy_container
            ),
        );
    }
}

/// Prints a note for each custom profile that may deliver settings of other libraries in NCCL's configuration file.
fn report_undelivered_settings(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        let settings = joined(profile.undelivered_settings())?;
        Some(format!(
            "profile {name} delivers {settings} in NCCL's configuration file to containers that use it, such as those of MPI \
             jobs, where other libraries do not read them: set `via: env`"
        ))
    });
}

/// Prints a note for each custom profile with variables that it only suggests, and does not add to pods.
fn report_suggested_settings(configuration: &Configuration) {
    print_profile_notes(configuration, |name, profile| {
        let settings = joined(profile.suggested_settings())?;
        Some(format!(
            "profile {name} does not set {settings}, which it only suggests: set it in the image or the pod, or remove `optIn` \
             from its entry"
        ))
    });
}

/// Joins the names of settings for a message; `None` if there are none.
fn joined<'a>(settings: impl Iterator<Item = &'a str>) -> Option<String> {
    let settings: Vec<&str> = settings.collect();
    (!settings.is_empty()).then(|| settings.join(", "))
}
