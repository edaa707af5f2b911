"""A Trainer of Lightning's, which counts its ranks and trains over all of them."""
import pytorch_lightning as lightning
import torch


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        return torch.nn.functional.mse_loss(self.layer(batch[0]), batch[0].sum(1, keepdim=True))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_train_end(self):
        ranks = self.all_gather(torch.tensor(self.global_rank + 1.0)).sum().item()
        weights = self.all_gather(self.layer.weight.detach()).flatten(1)
        print(f"rank {self.global_rank} of {self.trainer.world_size}: sum {ranks}, alike {bool((weights == weights[0]).all())}", flush=True)


torch.manual_seed(0)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 4)), batch_size=8)
trainer = lightning.Trainer(accelerator="cpu", devices=2, num_nodes=2, strategy="ddp", max_epochs=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Line(), data)
