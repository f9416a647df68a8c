//! The arguments of `planimeter bound`, its manual, and the conversion of arguments to settings.

use std::path::PathBuf;

use calculus::Rational;
use calculus::network::{
    Analysis, AnalysisError, ArrivalBound, FlowId, FlowOfInterest, Multiplexing, Network, Settings,
    Unit,
    format::{self, Variation},
};
use clap::Parser;
use report::RunDirectory;
use statistics::Condition;

use super::thresholds::METRICS;
use crate::failure::Failure;
use crate::output::ForPapers;
use crate::parsers::one_of;
use crate::threshold;

/// The largest width of the help in columns.
const WIDTH: usize = 100;

const ABOUT: &str = "Bound delay and backlog in a network, exactly";

const LONG_ABOUT: &str = "\
Bound delay and backlog in a network, exactly.

The command reads servers with service curves and flows with arrival curves and paths. By network \
calculus it computes the delay that no packet and the backlog that no server can exceed. The \
arithmetic is exact: 0.67 is 67/100. Beside each bound, the command shows the worst value of a \
simulated run of the network, so that you see how tight the bound is. A bound below that value \
would be a contradiction and fails the command.

A topology.json whose switches have queues, and that lists flows, is such a network too \
(docs/queues.md).

By default, each bound is the smallest of all analyses that are proven for the order of service. In \
large networks only the quick analyses are used, and the notes say which were not tried. A single \
analysis follows the conventions of DNC, the Deterministic Network Calculator.";

const ANALYSES: &str = "\
Analyses:
  best       the smallest bound of all analyses that are proven and apply
  quick      the smallest bound of tfa++, sfa and pmoo, and of tfa in any order of service, each by
             one convention that is proven; for networks for which the others take too long
  tfa        total flow analysis: the sum of the delays of all traffic at each server
  tfa++      total flow analysis in which arrivals follow from delays, with the shaping of links
  sfa        separated flow analysis: the convolution of the servers' left-over service curves
  pmoo       pay multiplexing only once: the left-over service curve of the whole path; any order
             of service
  tma        tandem matching: pmoo over the best parts of the path; any order of service
  sink-tree  FIFO networks in which all flows go to one root; exact for token buckets
  ludb       least upper delay bound of FIFO paths: left-over curves of nested flows with the best
             parameters; flows that overlap without nesting are cut
  plp        linear program of polynomial size for FIFO paths
  elp        linear program for FIFO paths with all times at the last 6 servers; close to the worst
             case
  ulp        linear program for any order of service; exactly the worst case on a tandem
  all        all of these except quick, side by side; analyses that do not apply are left out

The backlog is the data of the flow inside the network; for tfa, as is usual, it is the data of all
flows at the fullest server of the path. Networks may be cyclic for all analyses except sink-tree.";

const FILES: &str = "\
Files, by their names:
  .toml      Planimeter's own format
  .json      Planimeter's own format in JSON, or an output-port network of Saihu
  .xml       a physical network of WOPANets, as xTFA and Saihu read it
  .mppg      a min-plus program, which is run and whose outputs are printed

  Numbers may have units: 10Mbps, \"1.5 kB\", \"12us\". Numbers without units are in seconds, bits and
  bits per second unless the file says otherwise. A file with two servers:

    time-unit = \"us\"
    [[server]]
    name = \"switch\"
    service = { rate-latency = { rate = \"1Gbps\", latency = 4 } }
    [[server]]
    name = \"gateway\"
    service = { rate-latency = { rate = \"100Mbps\", latency = 20 } }
    shaping = { rate = \"100Mbps\" }
    multiplexing = \"arbitrary\"
    [[flow]]
    name = \"video\"
    path = [\"switch\", \"gateway\"]
    arrival = { token-bucket = { burst = \"20kB\", rate = \"8Mbps\" } }
    maximum-delay = \"5 ms\"
    [[flow]]
    name = \"alarms\"
    path = [\"gateway\"]
    arrival = { staircase = { height = \"100B\", length = \"1ms\" } }";

const EXAMPLES: &str = "\
Examples:
  All flows of a network, and one of them step by step:
    planimeter bound network.toml
    planimeter bound network.toml --flow video --derivation

  SFA as DNC computes it, for any order of service, and with PMOO for the arrivals:
    planimeter bound network.toml --analysis sfa --multiplexing arbitrary
    planimeter bound network.toml -a sfa -m arbitrary --arrival-bound aggregate-pmoo

  Analyses side by side, and all figures for a program:
    planimeter bound network.toml --analysis all
    planimeter bound network.toml --json

  Delays at 21 rates of the video, as a table, as CSV and as a figure:
    planimeter bound network.toml --vary video.rate=0..60Mbps:20
    planimeter bound network.toml --vary video.rate=0..60Mbps:20 --csv > delays.csv
    planimeter bound network.toml --vary video.rate=0..60Mbps:20 --output runs/video

  Curves of a flow as a drawing:
    planimeter bound network.toml --flow video --plot curves";

const EXIT_STATUS: &str = "\
Exit status:
  0  all flows have bounds, and all conditions hold
  1  a flow has no bound (the notes say why; see --allow-unbounded; with --vary: at no value), a
     delay bound exceeds the flow's maximum-delay or --deadline, a threshold does not hold, a bound
     contradicts a simulated run, or an assertion of a min-plus program fails
  2  the file or an argument is wrong, or the analysis does not apply to the network";

/// The arguments of `planimeter bound`.
#[derive(Debug, Parser)]
#[command(
    name = "bound",
    about = ABOUT,
    long_about = LONG_ABOUT,
    max_term_width = WIDTH,
    after_help = "Defaults are in brackets. The manual, with files and analyses: planimeter bound --help",
    after_long_help = format!("{ANALYSES}\n\n{FILES}\n\n{EXAMPLES}\n\n{EXIT_STATUS}")
)]
pub(crate) struct Arguments {
    /// The network: .toml, .json, .xml; or a min-plus program, .mppg
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// A flow to bound; may be given several times [all flows]
    #[arg(long, short, value_name = "NAME")]
    flow: Vec<String>,
    /// One or several analyses [best; quick for large networks]
    #[arg(
        long,
        short,
        value_name = "ANALYSIS",
        value_delimiter = ',',
        value_parser = one_of(analyses()),
        long_help = "One or several analyses. The default is best. For networks whose flows have more than 2000 hops \
                     together, and without --deadline, it is quick: the notes then say which analyses were not tried and \
                     how long they would take."
    )]
    analysis: Vec<Named>,
    /// The order of service at all servers, instead of that in the file
    #[arg(long, short, value_name = "ORDER", value_parser = one_of([
        ("fifo", Multiplexing::Fifo),
        ("arbitrary", Multiplexing::Arbitrary),
        ("static-priority", Multiplexing::StaticPriority),
    ]))]
    multiplexing: Option<Multiplexing>,
    /// The method that bounds arrivals of cross traffic; of several, the smallest bound is used
    #[arg(
        long,
        visible_alias = "cross-traffic",
        value_name = "METHOD",
        value_delimiter = ',',
        default_value = ArrivalBound::default().name(),
        value_parser = one_of(ArrivalBound::ALL.map(|method| (method.name(), method))),
        long_help = "The method that bounds arrivals of cross traffic. Flows that arrive over one link are bounded together \
                     as far back as they share their path (aggregate) or each alone (segregated), with the left-over \
                     service of SFA (pboo), PMOO or tandem matching (tm). Of several methods, the smallest bound at each \
                     time is used."
    )]
    arrival_bound: Vec<ArrivalBound>,
    /// The role of the flow of interest while cross traffic is bounded
    #[arg(
        long,
        value_name = "ROLE",
        default_value = "lowest-priority",
        value_parser = one_of([
            ("lowest-priority", FlowOfInterest::LowestPriority),
            ("lowest-priority-where-proven", FlowOfInterest::LowestPriorityWhereProven),
            ("interferes", FlowOfInterest::Interferes),
        ]),
        long_help = "The role of the flow of interest while cross traffic is bounded. With lowest-priority, the flow does \
                     not delay cross traffic, as in DNC; this is proven only for arbitrary multiplexing and for paths \
                     that no traffic leaves and joins again. With lowest-priority-where-proven, it does not delay cross \
                     traffic where that is proven, as in best. With interferes, it does, as in panco."
    )]
    flow_of_interest: FlowOfInterest,
    /// Cap bursts of cross traffic by the backlog of the server they come from
    #[arg(
        long,
        long_help = "Cap bursts of cross traffic by the backlog of the server they come from, as \
                     DNC does with its 'server backlog arrival bound'. The analysis best tries both."
    )]
    cap_bursts: bool,
    /// Prolong flows of cross traffic where that results in a smaller bound (pmoo, tma)
    #[arg(
        long,
        long_help = "Flow prolongation: assume that cross traffic that leaves a path early stays on it, where that results \
                     in a smaller bound because the traffic is then bounded together with other flows. Applies to pmoo, \
                     tma and arrivals that they bound. The analysis best does so except in large networks."
    )]
    prolong: bool,
    /// At ports with round robin, use the arrivals of other classes where they are below their
    /// share
    #[arg(
        long,
        long_help = "At ports with round robin, compute the service of a class from the arrivals of the other classes where \
                     those are less than their share. The arrivals are those of all flows in the file. A class without \
                     flows counts with its full share."
    )]
    arrival_aware: bool,
    /// Stop at flows whose delay is proven to be at most this time, such as 5ms
    #[arg(
        long,
        value_name = "TIME",
        value_parser = format::time,
        long_help = "Stop analysing a flow as soon as its delay is proven to be at most this time, such as 5ms, so that best \
                     and quick spend their effort on the other flows. A bound that could be smaller for that reason is \
                     marked 'cut short', the notes say how many flows meet the deadline, and the exit status is 1 if \
                     some may miss it."
    )]
    deadline: Option<Rational>,
    /// Fail unless this condition holds for all flows, such as 'delay < 5ms'
    #[arg(
        long,
        short,
        value_name = "CONDITION",
        value_parser = threshold::condition(&METRICS),
        conflicts_with = "vary",
        long_help = "Fail, with exit status 1, unless the condition holds for all flows and servers: a metric \
                     (delay and backlog bounds of each flow; load of each server as a fraction, and buffer, the \
                     bound of its backlog), one of <, <=, >, >=, ==, !=, and a number (5ms, 20kB, 0.8, 80%). \
                     The limit of a single flow belongs into the file, as maximum-delay."
    )]
    pub(super) threshold: Vec<Condition>,
    /// Print the derivation of each bound step by step
    #[arg(long, short)]
    pub(super) derivation: bool,
    /// Print JSON instead of the table, with numbers both exact and as doubles
    #[arg(long)]
    pub(super) json: bool,
    /// Print CSV instead of the table, in seconds and bits
    #[arg(long, conflicts_with = "json")]
    pub(super) csv: bool,
    /// Bound the network for each value of one quantity, such as video.rate=0..60Mbps:20
    #[arg(
        long,
        value_name = "WHAT=FROM..TO:STEPS",
        conflicts_with_all = ["derivation", "plot"],
        long_help = "Bound the network for each value of one of its quantities, such as \
                     video.rate=0..60Mbps:20: the name of a flow, server or port ('flow', 'server' or \
                     'port' for all of them), the name of a number in the file, both ends of the range, and the \
                     number of steps between them. rate[1] is the second of several rates. Works only for files in \
                     Planimeter's own format. With --output, the bounds are drawn and written as sweep.csv."
    )]
    pub(super) vary: Option<Variation>,
    /// Draw the curves of each flow as SVG files in this folder [curves]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "curves")]
    pub(super) plot: Option<PathBuf>,
    /// Create this run directory with report.html, its figures, result.json and CSV files
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    #[command(flatten)]
    papers: ForPapers,
    /// Do not simulate runs of the network, which is faster for large networks
    #[arg(long)]
    pub(super) no_simulation: bool,
    /// Exit with status 0 although flows have no bound
    #[arg(
        long,
        long_help = "Exit with status 0 although flows have no bound. Without this flag, the exit status is 1 if no analysis \
                     has a bound for some flow; the notes name the reason, such as an overloaded server or a cycle."
    )]
    pub(super) allow_unbounded: bool,
    /// The unit of times in the table, such as us [that of the file]
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    time_unit: Option<Unit>,
    /// The unit of data in the table, such as kB [that of the file]
    #[arg(long, value_name = "UNIT", value_parser = data_unit)]
    data_unit: Option<Unit>,
    /// The number of threads; 0 means one for each core
    #[arg(long, value_name = "N", default_value = "0")]
    threads: u16,
}

/// A value of `--analysis`: one analysis, or all of them.
#[derive(Debug, Clone, Copy)]
enum Named {
    One(Analysis),
    /// All analyses except `quick`, which only chooses one of the others.
    All,
}

fn analyses() -> impl Iterator<Item = (&'static str, Named)> {
    let each = Analysis::ALL.into_iter().map(|analysis| (analysis.name(), Named::One(analysis)));
    each.chain([("all", Named::All)])
}

fn time_unit(name: &str) -> Result<Unit, &'static str> {
    format::time_unit(name).ok_or("known are s, ms, us, ns and ps")
}

fn data_unit(name: &str) -> Result<Unit, &'static str> {
    format::data_unit(name).ok_or("known are b and B, with k, M, G or Ki, Mi, Gi")
}

impl Arguments {
    /// Returns the network to analyse. With `--arrival-aware`, the service curves of ports with
    /// round robin account for the arrivals of other classes. Otherwise the network is returned
    /// unchanged.
    pub(super) fn network(&self, network: Network) -> Result<Network, AnalysisError> {
        match self.arrival_aware {
            true => network.arrival_aware(&self.settings()),
            false => Ok(network),
        }
    }

    /// Returns the settings of the analyses that the flags select.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            multiplexing: self.multiplexing,
            flow_of_interest: self.flow_of_interest,
            arrival_bounds: self.arrival_bound.clone(),
            cap_bursts: self.cap_bursts,
            prolong: self.prolong,
            deadline: self.deadline.clone(),
            threads: self.threads.into(),
        }
    }

    /// Returns the analyses that `--analysis` names, in the order in which they are named. If it
    /// names none, returns the default for the size of the network. With a deadline, the default is
    /// `best` for any size, because only flows that exceed the deadline take long.
    pub(super) fn analyses(&self, network: &Network) -> Vec<Analysis> {
        let mut analyses = Vec::new();
        for named in &self.analysis {
            let some = match named {
                Named::One(analysis) => vec![*analysis],
                Named::All => Analysis::ALL.into_iter().filter(|a| *a != Analysis::Quick).collect(),
            };
            for analysis in some {
                if !analyses.contains(&analysis) {
                    analyses.push(analysis);
                }
            }
        }
        match analyses.is_empty() {
            false => analyses,
            true if self.deadline.is_some() => vec![Analysis::Best],
            true => vec![network.default_analysis()],
        }
    }

    /// Returns the flows that `--flow` names, or all flows of the network if it names none.
    pub(super) fn flows(&self, network: &Network) -> Result<Vec<FlowId>, Failure> {
        if self.flow.is_empty() {
            return Ok(network.flows().map(|(id, _)| id).collect());
        }
        let found = |name: &String| {
            network.flow_named(name).ok_or_else(|| {
                let known: Vec<&str> =
                    network.flows().take(10).map(|(_, flow)| flow.name.as_str()).collect();
                let more = if network.flows().len() > known.len() { " and more" } else { "" };
                let known = known.join(", ");
                Failure::input(format!("no flow is named '{name}'; there are {known}{more}"))
            })
        };
        self.flow.iter().map(found).collect()
    }

    /// Returns the unit of times in the printed table: that of `--time-unit`, or else that of the
    /// network's file.
    pub(super) fn time_unit(&self, network: &Network) -> Unit {
        self.time_unit.as_ref().unwrap_or_else(|| network.time_unit()).clone()
    }

    /// Returns the unit of data in the printed table: that of `--data-unit`, or else that of the
    /// network's file.
    pub(super) fn data_unit(&self, network: &Network) -> Unit {
        self.data_unit.as_ref().unwrap_or_else(|| network.data_unit()).clone()
    }

    /// Creates the run directory that `--output` names, or returns `None` without the flag.
    pub(super) fn directory(&self) -> Result<Option<RunDirectory>, Failure> {
        let Some(folder) = &self.output else { return Ok(None) };
        let directory = RunDirectory::create(Some(folder)).map_err(Failure::input)?;
        Ok(Some(directory.for_papers(self.papers.into())))
    }
}
