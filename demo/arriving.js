// Before anything is drawn: the start page is for whoever is not logged in, at its own address.
document.documentElement.classList.toggle('arriving', location.pathname !== '/demo' || 'demo' in localStorage)
// The first click is kept.
addEventListener('click', ({ target }) => {
  if (document.querySelector('#start [aria-busy]')) return
  target.closest('#start .walk-in')?.setAttribute('aria-busy', 'true')
})
