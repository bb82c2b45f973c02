// Before anything is painted: the theme that was chosen, if one was. A file of its own, because the page's
// policy runs nothing that is written inside it. It is served as immutable: a change wants a new number.
try {
  var theme = localStorage.getItem('livegraph.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch (e) {
  // Storage is off: the system's theme it is.
}
