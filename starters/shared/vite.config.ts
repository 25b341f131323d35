import { cloudflare } from "@cloudflare/vite-plugin";
import react from "@vitejs/plugin-react";
import { think, thinkWorkerConfig } from "everthink/vite";
import { defineConfig } from "vite";

// think() makes the Worker out of agents/; thinkWorkerConfig() adds its objects to what wrangler.jsonc says.
export default defineConfig({
  plugins: [
    react(),
    think({ authorize: "src/auth.ts" }),
    cloudflare({ inspectorPort: false, config: thinkWorkerConfig() })
  ]
});
