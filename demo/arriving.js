// Before anything is drawn: the start page is for whoever is not logged in, at its own address.
document.documentElement.classList.toggle('arriving', location.pathname !== '/demo' || 'demo' in localStorage)
