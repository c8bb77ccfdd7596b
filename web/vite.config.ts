import { defineConfig } from 'vite'

export default defineConfig({
  // Relative, so that the page works at `/` and behind any prefix alike.
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // The page is served under `default-src 'self'`: nothing inlined, no preload polyfill script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
