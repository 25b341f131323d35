import { cloudflare } from "@cloudflare/vite-plugin";
import react from "@vitejs/plugin-react";
import { fastStreams, skillsImport, zodLocales } from "everthink/build";
import { defineConfig } from "vite";
import { plug } from "./plug.ts";

export default defineConfig({
  plugins: [react(), cloudflare({ inspectorPort: false }), skillsImport(), fastStreams(), zodLocales(), plug()]
});
