//! `report.html` of a verification.

use ::device::verify::{Verification, VerifiedLevel};
use ::device::{Level, Verdict};

use super::terminal::with_interval;
use super::{Axes, Run, heat, percent, remarks, share};
use crate::format::{capital, command_line, printable};
use crate::html::{escape, head, section};
use crate::put::put;

/// What the words on the page mean.
const DEFINITIONS: &[(&str, &str)] = &[
    (
        "e_rel",
        "(predicted - measured) / measured, for each cell and level (equation 8 of Helm et al., ITC 33, 2021, with its sign). A \
         prediction is f0 plus the cost of each function, a cost is the level of the baseline with the function less the level \
         of the baseline (equations 7, 9, 10).",
    ),
    (
        "Too short",
        "The most by which a prediction lies below what was measured: the unsafe side. Absolute errors hide it.",
    ),
    (
        "Refuted",
        "Test cells in which the confidence intervals of prediction and measurement, quantisation included, have nothing in \
         common: there the functions depend on each other, however small the error is.",
    ),
    (
        "Skill",
        "One less the ratio of squared errors to those of a model that predicts the mean of the training cells for everything. \
         On a device on which nothing makes a difference, small errors are no skill.",
    ),
    (
        "Beyond the bound",
        "Packets of test cells that took longer than the predicted bound, with the upper end of the 95 % interval of their \
         share (Clopper and Pearson), over as many independent packets as the differences between blocks leave. The bound of a \
         percentile is the upper end of its interval; that of the maximum is the largest delay of all cells that were added.",
    ),
    (
        "Constant",
        "Whether a function costs the same for every packet. Distribution functions are within a band of those of the samples \
         (Dvoretzky, Kiefer, Wolfowitz, Massart); if no constant shift fits into the band of differences, and none that varies \
         by no more than is tolerated, sums of levels say nothing about other cells and are called empirical.",
    ),
    (
        "Independent packets",
        "Blocks of one cell differ by more than they would if packets were independent; intervals count as many packets as \
         would let blocks differ as much.",
    ),
];

/// The whole document.
#[must_use]
pub fn document(run: &Run<'_>) -> String {
    let title = format!("Device model: {}", run.model.device.name);
    let mut out = head(&title);
    out.push_str(STYLE);
    out.push_str(&header(run, &title));
    out.push_str("<main>\n");
    for (number, verification) in run.verifications.iter().enumerate() {
        let setting = escape(&verification.setting.to_string()).to_string();
        section(
            &mut out,
            &format!("levels-{number}"),
            &format!("Levels, {setting}"),
            &levels(verification),
        );
        if let Some(axes) = Axes::of(run.model, verification) {
            let maps: String = verification
                .levels
                .iter()
                .map(|level| heat::map(&axes, verification, level.level))
                .collect();
            section(
                &mut out,
                &format!("errors-{number}"),
                "Absolute relative errors",
                &format!("<div class=\"maps\">{maps}</div>"),
            );
        }
        section(
            &mut out,
            &format!("functions-{number}"),
            "Functions",
            &functions(run, verification),
        );
    }
    section(&mut out, "method", "Method", &method(run));
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

const STYLE: &str = "<style>\n.maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(36rem,100%),1fr));gap:1rem 2rem}\n\
     .maps figure{display:block}\n.heat td,.heat th{border:1px solid var(--line);text-align:center;padding:.3rem .35rem}\n\
     .heat{font-size:.75rem}.heat .training{background:#fff;color:#57606a}\n.heat th[scope=row]{text-align:left}\n.levels th{white-space:normal}\n</style>\n";

fn header(run: &Run<'_>, title: &str) -> String {
    let mut out = format!(
        "<header>\n<p class=\"kicker\">Planimeter {} · device models</p>\n<h1>{}</h1>\n<p class=\"facts\"><span>driver {}</span> · \
         <span>clock tick {}</span> · <span><time>{}</time></span></p>\n",
        escape(&printable(run.version)),
        escape(title),
        escape(&run.model.device.driver),
        run.model.clock.tick,
        escape(run.started_at),
    );
    for threshold in run.thresholds.iter().filter(|threshold| !threshold.held) {
        let value = threshold.value.map_or_else(
            || "there is no such figure".to_owned(),
            |value| format!("it is {value:.6}"),
        );
        put!(
            out,
            "<div class=\"card bad\" role=\"alert\"><p><span class=\"sign\">✗</span> <b>{}</b> does not hold: {value}</p></div>\n",
            escape(&threshold.condition)
        );
    }
    for verification in run.verifications {
        out.push_str(&tiles(verification));
        for (bad, text) in remarks(verification) {
            let class = if bad { "warn" } else { "good" };
            let sign = if bad { "!" } else { "✓" };
            put!(
                out,
                "<div class=\"card {class}\"><p><span class=\"sign\">{sign}</span> {}</p></div>\n",
                escape(&text)
            );
        }
        if let Some(next) = &verification.next {
            let names: Vec<&str> = next.functions.iter().map(|name| name.as_str()).collect();
            let cell = if names.is_empty() { "the baseline".to_owned() } else { names.join(" + ") };
            put!(
                out,
                "<div class=\"card\"><p><b>Measure next: {}</b>. {}.</p></div>\n",
                escape(&cell),
                escape(&capital(&next.reason))
            );
        }
    }
    put!(
        out,
        "<p class=\"command\"><code>{}</code></p>\n</header>\n",
        escape(&command_line(run.command))
    );
    out
}

fn tiles(verification: &Verification) -> String {
    let mut out = String::from("<dl class=\"tiles\" style=\"--columns:4\">\n");
    let wanted = |level: &&VerifiedLevel| {
        matches!(level.level, Level::Minimum | Level::Median | Level::Maximum)
    };
    for level in verification.levels.iter().filter(wanted) {
        put!(
            out,
            "<div><dt>{}: mean |e|, worst |e|</dt><dd class=\"value\">{} % <span class=\"remark\">worst {} %</span></dd></div>\n",
            capital(&level.level.to_string()),
            percent(level.mean_absolute),
            percent(level.worst_absolute)
        );
    }
    let median = verification.levels.iter().find(|level| level.level == Level::Median);
    if let Some(level) = median.filter(|level| level.refuted.1 > 0) {
        put!(
            out,
            "<div><dt>Predictions of the median refuted</dt><dd class=\"value\">{} of {}</dd></div>\n",
            level.refuted.0,
            level.refuted.1
        );
    }
    out.push_str("</dl>\n");
    out
}

fn levels(verification: &Verification) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"levels\"><thead><tr><th class=\"text\">Level</th><th>mean |e| %</th><th>worst |e| %</th><th>mean e %</th>\
         <th>too short, at most %</th><th>refuted</th><th>skill</th><th>packets beyond the bound</th><th>their share, at most</th>\
         <th>admitted</th><th>repetitions differ by</th><th>functions differ by</th></tr></thead><tbody>\n",
    );
    for level in &verification.levels {
        let (beyond, most, admitted) = match level.violations {
            None => (String::new(), String::new(), String::new()),
            Some(violations) => (
                format!("{} of {}", violations.beyond, violations.packets),
                share(violations.interval.high),
                violations.admitted.map_or_else(|| "no bound".to_owned(), share),
            ),
        };
        let broken = level.violations.is_some_and(|violations| {
            violations.admitted.is_some_and(|admitted| violations.interval.low > admitted)
        });
        let noise = level
            .noise
            .map(|noise| (noise.between_blocks.to_string(), noise.between_functions.to_string()));
        let (blocks, between) = noise.unwrap_or_default();
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{beyond}</td>\
             <td class=\"{}\">{most}</td><td>{admitted}</td><td class=\"{}\">{blocks}</td><td>{between}</td></tr>\n",
            level.level,
            percent(level.mean_absolute),
            percent(level.worst_absolute),
            percent(level.mean_signed),
            percent(level.worst_under),
            if level.refuted.1 == 0 {
                "–".to_owned()
            } else {
                format!("{} of {}", level.refuted.0, level.refuted.1)
            },
            level.skill.map_or_else(|| "–".to_owned(), |skill| format!("{skill:.3}")),
            if broken { "bad" } else { "" },
            if level.noise.is_some_and(|noise| !noise.says_something) { "warn" } else { "" },
        );
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn functions(run: &Run<'_>, verification: &Verification) -> String {
    let Some(under) = run.model.settings.iter().find(|under| under.setting == verification.setting)
    else {
        return String::new();
    };
    let levels = run.model.levels();
    let mut out =
        String::from("<div class=\"wide\"><table><thead><tr><th class=\"text\">Baseline with</th>");
    for level in &levels {
        put!(out, "<th>{level}</th>");
    }
    out.push_str("<th>packets</th><th>independent</th><th class=\"text\">cost constant?</th></tr></thead><tbody>\n");
    put!(out, "<tr><th scope=\"row\">nothing (f0)</th>");
    for estimate in &under.f0.profile.levels {
        put!(out, "<td>{}</td>", super::estimate(estimate));
    }
    put!(
        out,
        "<td>{}</td><td>{}</td><td class=\"text\"></td></tr>\n",
        under.f0.profile.samples,
        under.f0.profile.effective_samples
    );
    for function in &under.functions {
        put!(out, "<tr><th scope=\"row\">{}</th>", escape(function.function.name.as_str()));
        for level in &levels {
            put!(out, "<td>{}</td>", with_interval(function, *level));
        }
        let constant =
            function.shift.as_ref().map_or_else(String::new, |shift| match shift.verdict {
                Verdict::Constant => format!("yes ({} to {} seen)", shift.least, shift.largest),
                Verdict::Tolerated => format!(
                    "nearly: varies by {}, {} is tolerated",
                    shift.deviation, shift.tolerated
                ),
                Verdict::Refused => format!(
                    "NO: varies by {} at least, {} is tolerated",
                    shift.deviation, shift.tolerated
                ),
            });
        put!(
            out,
            "<td>{}</td><td>{}</td><td class=\"text\">{constant}</td></tr>\n",
            function.measurement.profile.samples,
            function.measurement.profile.effective_samples
        );
    }
    out.push_str("</tbody></table></div>\n");
    put!(
        out,
        "<p class=\"remark\">In brackets intervals of {} % each, with the clock's tick of {}. The largest delay seen has no upper end: \
         up to {} of packets may take longer than the baseline's.</p>\n",
        percent(run.model.confidence),
        run.model.clock.tick,
        under.f0.profile.beyond_maximum.map_or_else(|| "any share".to_owned(), share)
    );
    out
}

fn method(run: &Run<'_>) -> String {
    let mut out = String::new();
    if let Some(reference) = &run.model.clock.reference {
        put!(
            out,
            "<p>Without a device, over {}: median {}, 99th percentile {}, largest {} of {} packets.</p>\n",
            escape(&reference.path),
            reference.median,
            reference.percentile_99,
            reference.maximum,
            reference.samples
        );
    }
    out.push_str("<h3>What the figures mean</h3>\n<dl class=\"definitions\">\n");
    for (term, meaning) in DEFINITIONS {
        put!(out, "<dt>{}</dt><dd>{}</dd>\n", escape(term), escape(meaning));
    }
    out.push_str(
        "</dl>\n<h3>Files beside this report</h3>\n<table class=\"text\"><tbody>\n\
         <tr><th scope=\"row\"><code>result.json</code></th><td class=\"text prose\">everything here, by a versioned schema</td></tr>\n\
         <tr><th scope=\"row\"><code>cells.csv</code></th><td class=\"text prose\">a row for each cell and level</td></tr>\n\
         <tr><th scope=\"row\"><code>model.json</code></th><td class=\"text prose\">the model, for <code>planimeter device predict</code></td></tr>\n\
         </tbody></table>\n",
    );
    out
}
