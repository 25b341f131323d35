// The same as think-overrides.ts for the methods of steering.
import { Think, type SteerContext } from "../../src/index.ts";

export abstract class OverridesSteering extends Think {
  override steer(...args: Parameters<Think["steer"]>): ReturnType<Think["steer"]> {
    return super.steer(...args);
  }

  override followUp(...args: Parameters<Think["followUp"]>): ReturnType<Think["followUp"]> {
    return super.followUp(...args);
  }

  override editQueued(...args: Parameters<Think["editQueued"]>): ReturnType<Think["editQueued"]> {
    return super.editQueued(...args);
  }

  override withdrawQueued(...args: Parameters<Think["withdrawQueued"]>): ReturnType<Think["withdrawQueued"]> {
    return super.withdrawQueued(...args);
  }

  override listQueued(...args: Parameters<Think["listQueued"]>): ReturnType<Think["listQueued"]> {
    return super.listQueued(...args);
  }

  override inspectReceipt(...args: Parameters<Think["inspectReceipt"]>): ReturnType<Think["inspectReceipt"]> {
    return super.inspectReceipt(...args);
  }

  override stopAfterStep(...args: Parameters<Think["stopAfterStep"]>): ReturnType<Think["stopAfterStep"]> {
    return super.stopAfterStep(...args);
  }

  protected override onSteer(context: SteerContext) {
    return super.onSteer(context);
  }
}
