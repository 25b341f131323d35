import { cloudflare } from "@cloudflare/vite-plugin";
import { fastStreams, zodLocales } from "everthink/build";
import { defineConfig } from "vite";

export default defineConfig({ plugins: [cloudflare(), fastStreams(), zodLocales()] });
