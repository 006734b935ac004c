import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Writes `x.js.gz` beside every script and style sheet; the web server sends it to whoever accepts it. */
const precompress = (): Plugin => ({
  name: "precompress",
  apply: "build",
  closeBundle() {
    const folder = source("dist/assets/");
    for (const file of readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))) {
      writeFileSync(
        `${folder}${file}.gz`,
        gzipSync(readFileSync(folder + file), { level: constants.Z_BEST_COMPRESSION }),
      );
    }
  },
});

export default defineConfig({
  base: "/static/",
  plugins: [precompress()],
  // Plotly's map traces pull a style sheet of 80 KB that no chart of ours uses.
  resolve: { alias: { "maplibre-gl/dist/maplibre-gl.css": source("src/styles/empty.css") } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // Plotly's dependencies expect Node's `global`.
  define: { global: "globalThis" },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    manifest: "manifest.json",
    assetsDir: "assets",
    // light-dark() must reach the browser as written: it is how one palette serves both themes.
    target: ["chrome123", "firefox125", "safari17.5"],
    cssTarget: ["chrome123", "firefox125", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1400,
    rollupOptions: { input: source("src/main.ts") },
  },
  server: { port: 5173, strictPort: true, origin: "http://127.0.0.1:5173" },
});
