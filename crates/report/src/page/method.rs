//! Builds the last section of every report: the method, the host, definitions, and the files in the
//! run directory.

use provenance::Host;

use super::{Block, FIGURE_FILES, Page, Text};
use crate::format::{figure, printable};
use crate::plot::Unit;

impl Page {
    /// Adds the section about the method to the page. It contains the given blocks, the host (if
    /// figures depend on it), definitions of the words on the page, and the files of the run
    /// directory. The files of figures are listed too, if the page has figures.
    pub(crate) fn method<'a, K: Into<Text>, V: Into<Text>, F: Into<Text>>(
        &mut self,
        own: Vec<Block>,
        host: Option<&Host>,
        definitions: impl IntoIterator<Item = (K, V)>,
        files: impl IntoIterator<Item = (&'a str, F)>,
    ) {
        let drawn = self.lead.iter().chain(self.sections.iter().flat_map(|one| &one.blocks));
        let figures = drawn.into_iter().any(Block::has_figures).then_some(FIGURE_FILES);
        let mut blocks = own;
        let definitions = Block::definitions(definitions);
        let files = files.into_iter().map(|(name, content)| (name, content.into()));
        let figures = figures.map(|(name, content)| (name, Text::from(content)));
        let files = Block::files(files.chain(figures));
        for (heading, block) in [
            ("Host", host.map(Block::host)),
            ("What the figures mean", Some(definitions)),
            ("Files beside this report", Some(files)),
        ] {
            if let Some(block) = block.filter(|block| !block.is_empty()) {
                blocks.extend([Block::Heading(heading.to_owned()), block]);
            }
        }
        self.section("method", "Method", blocks);
    }
}

impl Block {
    fn has_figures(&self) -> bool {
        match self {
            Self::Figures(_) => !self.is_empty(),
            Self::Folded { blocks, .. } => blocks.iter().any(Self::has_figures),
            _ => false,
        }
    }

    /// Returns a block with the properties of the host on which a run took place.
    pub(crate) fn host(host: &Host) -> Self {
        let cores = (host.cpus > 0).then(|| host.cpus.to_string());
        let memory = (host.memory_bytes > 0).then(|| figure(host.memory_bytes as f64, Unit::Bytes));
        Self::facts([
            ("Name", printable(&host.hostname)),
            ("Kernel", printable(&host.kernel)),
            ("Processor", printable(&host.cpu_model)),
            ("Cores for Planimeter", cores.unwrap_or_default()),
            ("Memory", memory.unwrap_or_default()),
        ])
    }
}
