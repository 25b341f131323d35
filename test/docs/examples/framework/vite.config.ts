// vite.config.ts
import { cloudflare } from "@cloudflare/vite-plugin";
import { think, thinkWorkerConfig } from "everthink/vite";
import { defineConfig } from "vite";

export default defineConfig({ plugins: [think(), cloudflare({ config: thinkWorkerConfig() })] });
