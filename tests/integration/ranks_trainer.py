"""Hugging Face's Trainer on a model of its own size, which counts its ranks and trains over all of them."""
import sys

import torch
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments


class Line(PreTrainedModel):
    config_class = PretrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, points, labels=None):
        out = self.layer(points)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


torch.manual_seed(0)
points = torch.randn(64, 4)
data = [{"points": point, "labels": point.sum(0, keepdim=True)} for point in points]
arguments = TrainingArguments(sys.argv[1], use_cpu=True, ddp_backend="gloo", max_steps=4, per_device_train_batch_size=4, report_to=[],
                              save_strategy="no", logging_strategy="no", disable_tqdm=True, learning_rate=0.1)
trainer = Trainer(model=Line(PretrainedConfig()), args=arguments, train_dataset=data)
trainer.train()
number = torch.tensor([arguments.process_index + 1.0])
torch.distributed.all_reduce(number)
print(f"process {arguments.process_index} of {arguments.world_size}: sum {number.item()}", flush=True)
