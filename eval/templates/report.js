// Filters the list of questions; everything is shown where scripts don't run.
const form = document.getElementById("filters");
const articles = [...document.querySelectorAll("#questions > article")];
form.addEventListener("input", () => {
  const wanted = Object.fromEntries(new FormData(form));
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const article of articles) {
    const fits = ["verdict", "type", "setting"].every((key) => !wanted[key] || article.dataset[key] === wanted[key]);
    const text = article.textContent.toLowerCase();
    article.hidden = !(fits && words.every((word) => text.includes(word)));
    shown += !article.hidden;
  }
  document.getElementById("count").textContent = `${shown} of ${articles.length} questions`;
});
form.addEventListener("submit", (event) => event.preventDefault());
