// Returns what a test needs to know about a report.
(() => {
  const texts = (root, selector) => [...root.querySelectorAll(selector)].map(text => text.textContent.trim());
  for (const details of document.querySelectorAll("details")) details.open = true;
  const figures = [...document.querySelectorAll("figure")].map(figure => ({
    title: figure.querySelector("figcaption").textContent,
    axes: Number(figure.querySelector("svg.plot").dataset.axes ?? 2),
    labels: [...figure.querySelectorAll("svg.plot .label")].map(label => ({
      text: label.textContent,
      unit: label.dataset.unit ?? "",
      ticks: texts(figure, `.tick text[text-anchor=${label.hasAttribute("transform") ? "end" : "middle"}]`),
    })),
    legend: texts(figure, ".legend text"),
    named: texts(figure, ".line, .dot, .area, .cell, .marker").length,
    width: figure.querySelector("svg").getBoundingClientRect().width,
  }));
  const wide = [...document.querySelectorAll(".wide")].filter(box => box.scrollWidth > box.clientWidth + 1);
  // What a figure holds lies in its column, or it would lie over the next one.
  const beyond = [...document.querySelectorAll("figure")].flatMap(figure => {
    const { right } = figure.getBoundingClientRect();
    return [...figure.querySelectorAll("table, svg.plot")].filter(part => part.getBoundingClientRect().right > right + 1);
  });
  return {
    figures,
    beyond: beyond.map(part => part.textContent.slice(0, 80)),
    overflowing: wide.map(box => box.textContent.slice(0, 80)),
    page: [document.documentElement.scrollWidth, document.documentElement.clientWidth],
    requests: performance.getEntriesByType("resource").map(entry => entry.name),
    background: getComputedStyle(document.body).backgroundColor,
  };
})()
