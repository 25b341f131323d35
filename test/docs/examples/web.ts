import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";
import { brave } from "everthink/web";

export class Researcher extends Think {
  override webFetch = true;
  override webSearch = brave();

  override getModel() {
    return openai("gpt-5");
  }
}
