//! The controllers with which the figures of the P4RCProbe paper are measured: the reference
//! controller, those of package registries, and the user's.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::probe::config::{self, Settings};
use ::probe::outcome::RunResult;
use clap::Args;

use super::super::claims::System;
use super::registry::Registry;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::reference::{self, Attended, Job, Protocol};

/// The flags that say how the user's controller is reached.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Yours {
    /// Measure your controller too, which listens for OpenFlow switches at this address
    #[arg(long, value_name = "ADDRESS")]
    controller: Option<String>,
    /// Measure your controller too, an ONOS that is told of P4Runtime switches at this URL
    #[arg(long, value_name = "URL")]
    onos_rest: Option<String>,
    /// Measure your controller too, over P4Runtime; --controller-config says how it finds switches
    ///
    /// Measure your controller too, over P4Runtime. It must know the emulated switches, for example
    /// by controller.list-file or controller.netcfg-file in the file of --controller-config.
    #[arg(long)]
    p4runtime: bool,
    /// Shell command before each trial but the first of your controller, for instance to restart it
    #[arg(long, value_name = "COMMAND")]
    between: Option<String>,
    /// Whether the controller was measured before, so that the command of `--between` must run
    /// before the next measurement.
    #[arg(skip)]
    was_measured: Arc<AtomicBool>,
    /// Settings of the probe for your controller
    ///
    /// Settings of the probe for your controller: a file as `planimeter probe --config` reads it,
    /// with its pipeconf, time-outs, process and the like. Switches, rates and the plan are those
    /// of the figures.
    #[arg(long, value_name = "FILE")]
    controller_config: Option<PathBuf>,
}

impl Yours {
    /// Returns the options for a controller that the command `restart` starts, also before the
    /// first measurement. The controller listens at `openflow` for OpenFlow switches, or speaks
    /// P4Runtime if that is `None`. `settings` is a file with settings of the probe.
    pub(super) fn restarted(openflow: Option<String>, restart: String, settings: PathBuf) -> Self {
        Self {
            p4runtime: openflow.is_none(),
            controller: openflow,
            onos_rest: None,
            between: Some(restart),
            was_measured: Arc::new(AtomicBool::new(true)),
            controller_config: Some(settings),
        }
    }

    /// Returns the protocols over which the user's controller is measured (empty if the user names
    /// no controller).
    pub(crate) fn protocols(&self) -> Vec<Protocol> {
        let openflow = self.controller.as_ref().map(|_| Protocol::OpenFlow);
        let has_p4runtime = self.p4runtime || self.onos_rest.is_some();
        openflow.into_iter().chain(has_p4runtime.then_some(Protocol::P4Runtime)).collect()
    }

    /// Returns a failure if options for a controller are given but none that names one, or if the
    /// settings of the probe for the controller are invalid.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let has_options = self.between.is_some() || self.controller_config.is_some();
        if has_options && self.protocols().is_empty() {
            return Err(Failure::input(
                "--between and --controller-config need a controller: name it by --controller ADDRESS over OpenFlow, and by \
                 --onos-rest URL or --p4runtime over P4Runtime",
            ));
        }
        for protocol in self.protocols() {
            let job = Job {
                protocol,
                switches: 1,
                settings: &[("traffic.rate", "1")],
                more: &[],
                folder: "",
                about: "",
            };
            self.settings(&job).resolve().map_err(Failure::input)?;
        }
        Ok(())
    }

    /// Returns the options that name the user's controller, as they are typed (empty if there is
    /// none). A run that continues this one must have the same options.
    pub(crate) fn words(&self) -> String {
        let flag = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name} {value}"))
        };
        let file = self.controller_config.as_ref().map(|file| file.display().to_string());
        let all = [
            flag("--controller", &self.controller),
            flag("--onos-rest", &self.onos_rest),
            self.p4runtime.then(|| "--p4runtime".to_owned()),
            flag("--between", &self.between.as_ref().map(|command| quoted(command))),
            flag("--controller-config", &file),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Measures this controller as `job` describes. `note` describes the controller for readers of
    /// the report.
    fn measure(
        &self,
        job: &Job<'_>,
        note: &str,
        environment: &Environment<'_>,
    ) -> Result<RunResult, Failure> {
        let resolved = self.settings(job).resolve().map_err(Failure::run)?;
        // The probe runs the command between the trials of one measurement, but not between two
        // measurements.
        if self.was_measured.swap(true, Ordering::Relaxed) {
            ::probe::between(self.between.as_deref(), environment.interrupt)
                .map_err(|error| Failure::of_probe(&error))?;
        }
        reference::run_probe(job, &resolved, Attended { ports: None, note }, environment)
    }

    /// Returns the settings of the probe for a measurement of this controller. The settings of the
    /// job override those in the user's file, except `timing.settle`, which is that of the file, or
    /// 5 s if the file does not set it.
    fn settings(&self, job: &Job<'_>) -> Settings {
        let mut settings = Settings::new();
        // A real controller learns its switches and compiles its code while it runs, so it needs
        // longer times than the reference controller. The user's file may state others.
        for (key, value) in [("timing.settle", "5s"), ("timing.warm-up", "5s")] {
            settings.set(key, value, config::Origin::Default);
        }
        if let Some(file) = &self.controller_config {
            settings.read_file(file);
        }
        let switches = job.switches.to_string();
        let protocol = match job.protocol {
            Protocol::OpenFlow => "openflow13",
            Protocol::P4Runtime => "p4runtime",
        };
        let mut own = vec![("protocol", protocol), ("switches.count", switches.as_str())];
        let address = self.controller.as_deref().filter(|_| job.protocol == Protocol::OpenFlow);
        own.extend(address.map(|address| ("controller.address", address)));
        own.extend(self.onos_rest.as_deref().map(|url| ("controller.onos-rest", url)));
        own.extend(self.between.as_deref().map(|command| ("plan.between", command)));
        // The plan is that of the figure, whatever the user's file has.
        own.extend([("plan.kind", "point"), ("plan.switches", switches.as_str())]);
        // How long a controller needs to learn its switches is no matter of the figure.
        own.extend(job.settings.iter().copied().filter(|(key, _)| *key != "timing.settle"));
        for (key, value) in own {
            settings.set(key, value, config::Origin::Flag);
        }
        settings
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A setting of a measurement that depends on the kind of run and of controller.
pub(super) struct Setting<T> {
    /// The setting for quick runs (`--quick`).
    pub(super) quick: T,
    /// The setting for full runs.
    pub(super) full: T,
    /// The setting for controllers of package registries.
    pub(super) registry: T,
}

/// A controller with which the figures are measured.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Reference,
    Registry(&'a Registry),
    Yours(&'a Yours),
}

impl Subject<'_> {
    pub(super) fn system(self) -> System {
        match self {
            Self::Reference => System::Reference,
            Self::Registry(_) => System::Registry,
            Self::Yours(_) => System::Yours,
        }
    }

    /// Returns that value of a setting which applies to this controller. Controllers of package
    /// registries are measured in full runs only, and less extensively, because they are slower.
    pub(super) fn choose<T>(self, environment: &Environment<'_>, setting: Setting<T>) -> T {
        match self {
            Self::Registry(_) => setting.registry,
            Self::Reference | Self::Yours(_) if environment.quick => setting.quick,
            Self::Reference | Self::Yours(_) => setting.full,
        }
    }

    /// Returns the protocols over which the controller is measured, each with its key in the files
    /// of published values.
    pub(super) fn protocols(self) -> Vec<(Protocol, &'static str)> {
        let protocols = match self {
            Self::Reference => Protocol::BOTH.to_vec(),
            Self::Registry(registry) => registry.protocols(),
            Self::Yours(yours) => yours.protocols(),
        };
        let key = |protocol| match protocol {
            Protocol::OpenFlow => "openflow",
            Protocol::P4Runtime => "p4runtime",
        };
        protocols.into_iter().map(|protocol| (protocol, key(protocol))).collect()
    }

    pub(super) fn has(self, protocol: Protocol) -> bool {
        self.protocols().iter().any(|(own, _)| *own == protocol)
    }

    /// Returns the name of the run directory of a measurement.
    pub(super) fn folder(self, name: &str) -> String {
        match self {
            Self::Reference => name.to_owned(),
            Self::Registry(_) => format!("registry-{name}"),
            Self::Yours(_) => format!("yours-{name}"),
        }
    }

    /// Measures the controller as `job` describes. A measurement that an interrupted run has
    /// completed is not repeated if this run continues it. Returns `None` if the user interrupts
    /// the measurement before it has a result, so that the results of earlier measurements are
    /// kept.
    pub(super) fn measure(
        self,
        job: &Job<'_>,
        environment: &Environment<'_>,
    ) -> Result<Option<RunResult>, Failure> {
        if let Some(result) = environment.completed(job.folder) {
            if let Self::Yours(yours) = self {
                yours.was_measured.store(true, Ordering::Relaxed);
            }
            return Ok(Some(result));
        }
        let measured = match self {
            Self::Reference => reference::measure(job, environment),
            Self::Registry(registry) => {
                let name = job.protocol.name();
                let options = registry.options(job.protocol);
                let options = options.ok_or_else(|| {
                    Failure::run(format!("no controller of a registry speaks {name}"))
                })?;
                let note = "The controller is from a package registry: os-ken over OpenFlow, finsy over P4Runtime.";
                options.measure(job, note, environment)
            }
            Self::Yours(yours) => yours.measure(job, "The controller is the user's.", environment),
        };
        match measured {
            Err(_) if environment.interrupted() => Ok(None),
            measured => measured.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        yours: Yours,
    }

    fn yours(line: &str) -> Yours {
        Line::parse_from(line.split_whitespace()).yours
    }

    fn job<'a>(protocol: Protocol, settings: &'a [(&'a str, &'a str)]) -> Job<'a> {
        Job { protocol, switches: 50, settings, more: &[], folder: "f", about: "a" }
    }

    #[test]
    fn each_protocol_is_measured_that_the_options_reach() {
        assert!(yours("x").protocols().is_empty());
        assert_eq!(yours("x --controller 10.0.0.1:6653").protocols(), [Protocol::OpenFlow]);
        let both = yours("x --controller 10.0.0.1:6653 --onos-rest http://10.0.0.1:8181");
        assert_eq!(both.protocols(), Protocol::BOTH);
        assert_eq!(yours("x --p4runtime").protocols(), [Protocol::P4Runtime]);
        assert!(both.check().is_ok() && yours("x --between true").check().is_err());
        assert!(yours("x --controller 10.0.0.1:99999").check().is_err());
    }

    #[test]
    fn the_figures_settings_stand_above_the_users_file_and_its_times_above_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mine.toml");
        let text = "[timing]\nsettle = \"30s\"\nmeasure = \"9s\"\n[switches]\nports = 3\n";
        std::fs::write(&file, text).expect("a file");
        let one = yours(&format!(
            "x --onos-rest http://127.0.0.1:8181 --between true --controller-config {}",
            file.display()
        ));
        let settings = [("timing.measure", "1s"), ("timing.settle", "200ms")];
        let resolved =
            one.settings(&job(Protocol::P4Runtime, &settings)).resolve().expect("settings");
        let values = resolved.values();
        for (key, value) in [
            ("protocol", "p4runtime"),
            ("switches.count", "50"),
            ("switches.ports", "3"),
            ("timing.settle", "30s"),
            ("timing.warm-up", "5s"),
            ("timing.measure", "1s"),
            ("plan.between", "true"),
        ] {
            assert_eq!(values.get(key).map(String::as_str), Some(value), "{key}");
        }
    }

    #[test]
    fn a_figure_that_begins_with_the_first_packet_in_has_no_warm_up() {
        let one = yours("x --p4runtime");
        let settings = [("timing.warm-up", "0s")];
        let resolved =
            one.settings(&job(Protocol::P4Runtime, &settings)).resolve().expect("settings");
        assert_eq!(resolved.values().get("timing.warm-up").map(String::as_str), Some("0s"));
    }

    #[test]
    fn the_users_plan_is_that_of_no_figure() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mine.toml");
        let text = "[plan]\nkind = \"sweep\"\nrates = \"1,2\"\nswitches = \"3,4\"\n";
        std::fs::write(&file, text).expect("a file");
        let one = yours(&format!("x --p4runtime --controller-config {}", file.display()));
        let values = |settings: &[(&str, &str)]| {
            let settings = one.settings(&job(Protocol::P4Runtime, settings));
            settings.resolve().expect("settings").values()
        };
        let value = |settings: &[(&str, &str)], key| values(settings).get(key).cloned();
        let point = [("traffic.rate", "50")];
        assert_eq!(value(&point, "plan.kind").as_deref(), Some("point"));
        let sweep = [("plan.kind", "sweep"), ("plan.rates", "10,50")];
        assert_eq!(value(&sweep, "plan.rates").as_deref(), Some("10,50"));
        assert_eq!(value(&sweep, "plan.switches").as_deref(), Some("50"));
    }

    #[test]
    fn a_command_is_quoted_for_the_shell() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
