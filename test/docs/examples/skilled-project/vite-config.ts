import { cloudflare } from "@cloudflare/vite-plugin";
import { skillsImport } from "everthink/build";
import { defineConfig } from "vite";

export default defineConfig({ plugins: [cloudflare(), skillsImport()] });
