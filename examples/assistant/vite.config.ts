import { cloudflare } from "@cloudflare/vite-plugin";
import react from "@vitejs/plugin-react";
import { fastStreams, zodLocales } from "everthink/build";
import { think, thinkWorkerConfig } from "everthink/vite";
import { defineConfig } from "vite";
import { plug } from "./plug.ts";

// think() makes the Worker out of agents/; thinkWorkerConfig() adds its objects to what wrangler.jsonc says.
export default defineConfig({
  plugins: [
    react(),
    // The classes have pinned names, so `Env` in server/env.ts types them.
    think({ types: false }),
    cloudflare({ inspectorPort: false, config: thinkWorkerConfig() }),
    fastStreams(),
    zodLocales(),
    plug()
  ]
});
