import { defineConfig } from 'vite'

// The console is a page of its own: it is served at another address than the chat page, under a stricter policy.
export default defineConfig({
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
